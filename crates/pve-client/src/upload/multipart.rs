//! The body of an upload, as pveproxy's own parser wants it (`PVE::APIServer::AnyEvent`): the fields
//! in its order and before the file, `Content-Disposition` as the first header of each part, and
//! nothing after the file, since that would become part of it.

/// A boundary is written without quotes; the parser takes quotes for a part of it.
const BOUNDARY: &str = "ferrite-b0f2d6d3c1a94f7e8a5b";

/// The value of `Content-Type`.
pub(super) fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// What comes before the file's bytes.
pub(super) fn head(content: &str, checksum: Option<(&str, &str)>, filename: &str) -> Vec<u8> {
    let mut text = String::new();
    let mut field = |name: &str, value: &str| {
        text.push_str(&format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        ));
    };
    field("content", content);
    if let Some((algorithm, sum)) = checksum {
        field("checksum-algorithm", algorithm);
        field("checksum", sum);
    }
    text.push_str(&format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"filename\"; \
         filename=\"{filename}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
    ));
    text.into_bytes()
}

/// What comes after them.
pub(super) fn tail() -> Vec<u8> {
    format!("\r\n--{BOUNDARY}--\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b41_the_file_is_the_last_part_and_b42_has_its_type() {
        let text = String::from_utf8(head("import", Some(("sha256", "ab")), "x.qcow2")).unwrap();
        let part = |rest: &str| format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {rest}");
        let expected = [
            part("name=\"content\"\r\n\r\nimport\r\n"),
            part("name=\"checksum-algorithm\"\r\n\r\nsha256\r\n"),
            part("name=\"checksum\"\r\n\r\nab\r\n"),
            part("name=\"filename\"; filename=\"x.qcow2\"\r\n"),
            "Content-Type: application/octet-stream\r\n\r\n".to_owned(),
        ];
        assert_eq!(text, expected.concat());
        assert_eq!(tail(), format!("\r\n--{BOUNDARY}--\r\n").into_bytes());
        assert!(!content_type().contains('"'), "{}", content_type());
        let without = String::from_utf8(head("iso", None, "x.iso")).unwrap();
        assert!(!without.contains("checksum"), "{without}");
    }
}
