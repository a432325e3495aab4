//! Uploads, by the rules of pveproxy's own parser: permission before the body, fields in one order
//! and before the file, and everything after the file's head is the file.

use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tempfile::NamedTempFile;

use super::dispatch::{self, Answer, Incoming as Call};
use super::error::{ApiError, ErrorBody};
use crate::shared::Shared;

/// The fields before the file, in the only order that is understood.
const FIELDS: [&str; 3] = ["content", "checksum-algorithm", "checksum"];
/// No head of a part is longer.
const HEAD_LIMIT: usize = 16 << 10;

/// Whether a request is one.
pub(super) fn is(call: &Call) -> bool {
    call.method == "POST"
        && call.path.ends_with("/upload")
        && call.content_type.starts_with("multipart/form-data")
}

/// Answers an upload, or nothing to close the connection.
pub(super) async fn answer(call: Call, body: Incoming, shared: Arc<Shared>) -> Option<Answer> {
    // refused before the body is looked at
    if !dispatch::admits(&call, &shared) {
        return dispatch::answer(call, shared).await;
    }
    match receive(&call, body, &shared).await {
        Ok((form, spool)) => {
            let name = spool.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            // the task takes it from there, and what no task takes is removed
            shared.spool(&name, spool);
            let content_type = "application/x-www-form-urlencoded".to_owned();
            let call = Call { content_type, body: Bytes::from(form), ..call };
            let answer = dispatch::answer(call, Arc::clone(&shared)).await;
            drop(shared.take_spooled(&name));
            answer
        }
        Err(Some(refusal)) => Some(Answer::refusal(refusal)),
        Err(None) => None,
    }
}

/// Puts the file aside; gives the fields as a form.
async fn receive(
    call: &Call,
    mut body: Incoming,
    shared: &Shared,
) -> Result<(String, NamedTempFile), Option<ApiError>> {
    let failed = || {
        ApiError::text(
            500,
            "upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1370.",
        )
    };
    let boundary = call.content_type.split_once("boundary=").map(|(_, rest)| rest.to_owned());
    let mut parser = Parser::new(boundary.ok_or_else(failed)?, call.length);
    let folder = shared.state().dir.join("var-tmp");
    std::fs::create_dir_all(&folder).map_err(|_| failed())?;
    let spool = tempfile::Builder::new()
        .prefix("pveupload-")
        .rand_bytes(0)
        .suffix(&random())
        .tempfile_in(&folder);
    let mut spool = spool.map_err(|_| failed())?;
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        // the client went away
        let frame = frame.map_err(|_| None)?;
        let Some(bytes) = frame.data_ref() else { continue };
        let file = parser.feed(bytes).map_err(|bad| match bad {
            Bad::Order => ApiError { body: ErrorBody::Empty, ..ApiError::text(400, "Bad Request") },
            Bad::Form => failed(),
        })?;
        size += file.len() as u64;
        // tests send files with holes, which need not take room here
        if file.iter().all(|byte| *byte == 0) {
            let skip = i64::try_from(file.len()).unwrap_or(0);
            spool.seek(SeekFrom::Current(skip)).map_err(|_| failed())?;
        } else {
            spool.write_all(&file).map_err(|_| failed())?;
        }
    }
    spool.as_file().set_len(size).map_err(|_| failed())?;
    let mut pairs = parser.fields;
    let shown = spool.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    pairs.push(("tmpfilename".to_owned(), format!("/var/tmp/{shown}")));
    pairs.push(("filename".to_owned(), parser.filename.ok_or_else(failed)?));
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let form: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
    Ok((form.join("&"), spool))
}

fn random() -> String {
    crate::random::uuid().replace('-', "")
}

#[derive(Debug, PartialEq, Eq)]
enum Bad {
    /// 400 without a body.
    Order,
    /// 500.
    Form,
}

struct Parser {
    boundary: String,
    buffer: Vec<u8>,
    fields: Vec<(String, String)>,
    filename: Option<String>,
    /// Bytes of the body that are not seen yet.
    unseen: u64,
    /// Bytes of the file that are still to come.
    file: u64,
}

impl Parser {
    fn new(boundary: String, length: u64) -> Self {
        Self {
            boundary,
            buffer: Vec::new(),
            fields: Vec::new(),
            filename: None,
            unseen: length,
            file: 0,
        }
    }

    /// Takes bytes of the body; gives those of the file.
    fn feed(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Bad> {
        self.unseen = self.unseen.saturating_sub(bytes.len() as u64);
        self.buffer.extend_from_slice(bytes);
        while self.filename.is_none() {
            if !self.part()? {
                return if self.buffer.len() > HEAD_LIMIT {
                    Err(Bad::Form)
                } else {
                    Ok(Vec::new())
                };
            }
        }
        let take = usize::try_from(self.file).unwrap_or(usize::MAX).min(self.buffer.len());
        self.file -= take as u64;
        let rest = self.buffer.split_off(take);
        let file = std::mem::replace(&mut self.buffer, rest);
        self.buffer.clear();
        Ok(file)
    }

    /// Reads one part's head, and its value unless it is the file; false if more is needed.
    fn part(&mut self) -> Result<bool, Bad> {
        let text = String::from_utf8_lossy(&self.buffer).into_owned();
        let Some((head, rest)) = text.split_once("\r\n\r\n") else {
            let mark = format!("--{}", self.boundary);
            let so_far = text.len().min(mark.len());
            return if text[..so_far] == mark[..so_far] { Ok(false) } else { Err(Bad::Form) };
        };
        let head_length = head.len() + 4;
        let mark = format!("--{}\r\nContent-Disposition: form-data; name=\"", self.boundary);
        let head = head.strip_prefix(&mark).ok_or(Bad::Form)?;
        let (name, head) = head.split_once('"').ok_or(Bad::Form)?;
        if name == "filename" {
            let (file, headers) = head
                .strip_prefix("; filename=\"")
                .and_then(|head| head.split_once('"'))
                .ok_or(Bad::Form)?;
            if !headers.starts_with("\r\nContent-Type: ") {
                return Err(Bad::Form);
            }
            self.filename = Some(file.to_owned());
            self.buffer.drain(..head_length);
            let tail = format!("\r\n--{}--\r\n", self.boundary).len() as u64;
            let left = self.unseen + self.buffer.len() as u64;
            self.file = left.checked_sub(tail).ok_or(Bad::Form)?;
            return Ok(true);
        }
        let Some((value, _)) = rest.split_once("\r\n") else { return Ok(false) };
        let place = FIELDS.iter().position(|field| *field == name).ok_or(Bad::Order)?;
        let last = self.fields.last().and_then(|(last, _)| FIELDS.iter().position(|f| f == last));
        if last.is_some_and(|last| last >= place) {
            return Err(Bad::Order);
        }
        self.fields.push((name.to_owned(), value.to_owned()));
        self.buffer.drain(..head_length + value.len() + 2);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &str) -> String {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    }

    const FILE: &str = "--b\r\nContent-Disposition: form-data; name=\"filename\"; \
                        filename=\"x.iso\"\r\nContent-Type: application/octet-stream\r\n\r\n";
    const TAIL: &str = "\r\n--b--\r\n";

    fn parse(body: &str, step: usize) -> Result<(Vec<String>, String), Bad> {
        let mut parser = Parser::new("b".to_owned(), body.len() as u64);
        let mut file = Vec::new();
        for bytes in body.as_bytes().chunks(step) {
            file.extend(parser.feed(bytes)?);
        }
        let fields = parser.fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Ok((fields, String::from_utf8(file).unwrap()))
    }

    #[test]
    fn b41_what_comes_after_the_file_becomes_part_of_it() {
        let content = field("content", "iso");
        let (algorithm, sum) = (field("checksum-algorithm", "sha256"), field("checksum", "ab"));
        for step in [1, 7, 10_000] {
            let body = format!("{content}{algorithm}{sum}{FILE}a\r\n\r\nb{TAIL}");
            let (fields, file) = parse(&body, step).unwrap();
            assert_eq!(fields, ["content=iso", "checksum-algorithm=sha256", "checksum=ab"]);
            assert_eq!(file, "a\r\n\r\nb");
            let after = format!("{content}{FILE}ab\r\n{sum}--b--\r\n");
            let (_, file) = parse(&after, step).unwrap();
            assert!(file.starts_with("ab\r\n--b\r\n") && file.contains("checksum"), "{file}");
            let order = format!("{content}{sum}{algorithm}{FILE}ab{TAIL}");
            assert_eq!(parse(&order, step), Err(Bad::Order));
        }
        let untyped = FILE.replace("\r\nContent-Type: application/octet-stream", "");
        for body in [
            format!("{content}{untyped}ab{TAIL}"),
            format!("{content}{FILE}ab{TAIL}")
                .replace("Content-Disposition", "content-disposition"),
            format!("--\"b\"{content}{FILE}ab{TAIL}"),
        ] {
            assert_eq!(parse(&body, 10_000), Err(Bad::Form), "{body}");
        }
    }
}
