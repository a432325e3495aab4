//! Bringing files into a storage: `upload` and `download-url`.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::Command;

use serde_json::json;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::super::call::{Call, Route, TaskHandle};
use super::super::error::{ApiError, ApiResult, ErrorBody};
use super::fetch::fetch;
use crate::state::storage::{Storage, Volume};

/// What the name of a file goes on with while the file still comes.
pub(super) const PARTIAL: &str = ".tmp_dwnl.";

pub(crate) const ROUTES: &[Route] = &[
    ("POST", "/nodes/{node}/storage/{storage}/upload", upload),
    ("POST", "/nodes/{node}/storage/{storage}/download-url", download),
    ("GET", "/nodes/{node}/query-url-metadata", metadata),
];

/// Checks a file name by the content it shall be.
fn check_name(content: &str, name: &str) -> Result<(), ApiError> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    match content {
        "iso" if !ends(&[".iso", ".img"]) => {
            Err(ApiError::param("filename", "wrong file extension"))
        }
        "vztmpl" if !ends(&[".tar.gz", ".tar.xz", ".tar.zst"]) => {
            Err(ApiError::param("filename", "wrong file extension"))
        }
        "import" if !ends(&[".qcow2", ".raw", ".vmdk", ".ova"]) => {
            Err(ApiError::param("filename", "invalid filename or wrong extension"))
        }
        _ => Ok(()),
    }
}

/// The name under which a file is kept.
fn normalized(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    last.chars().map(|c| if kept(c) { c } else { '_' }).collect()
}

/// A storage that holds a content type, as the node of the call has it.
fn storage(call: &Call, content: &str) -> Result<Storage, ApiError> {
    let id = call.params.text("storage");
    let storage = call.state().storage(id).map_err(ApiError::internal)?.at(call.node());
    if !storage.holds(content) {
        return Err(ApiError::internal(format!(
            "storage '{id}' does not support '{content}' content"
        )));
    }
    Ok(storage)
}

/// The body is a form here: the file has been put aside, see [`super::super::upload`].
fn upload(call: Call) -> ApiResult {
    let content = call.params.text("content").to_owned();
    let name = normalized(call.params.text("filename"));
    check_name(&content, &name)?;
    let storage = storage(&call, &content)?;
    let shown = call.params.text("tmpfilename").to_owned();
    let spool = call.shared.take_spooled(shown.rsplit('/').next().unwrap_or_default());
    let Some(spool) = spool else {
        return Err(ApiError { body: ErrorBody::Empty, ..ApiError::text(400, "Bad Request") });
    };
    let wanted = sum_of(&call);
    let node = call.node().to_owned();
    call.task("imgcopy", "", move |task| {
        let volume = Volume::parse(&format!("{}:{content}/{name}", storage.id))
            .ok_or("unable to parse volume ID")?;
        let size = fs::metadata(spool.path()).map_err(|e| e.to_string())?.len();
        task.log(format!("starting file import from: {shown}"));
        verify(task, spool.path(), wanted.as_ref())?;
        if content == "import" && name.ends_with(".qcow2") && !is_qcow2(spool.path()) {
            task.log(format!(
                "command '/usr/bin/qemu-img info '--output=json' {shown} -f qcow2' failed: exit code 1"
            ));
            return Err(format!(
                "qemu-img: Could not open '{shown}': Image is not in qcow2 format"
            ));
        }
        let (to, target) = (volume.file(&storage), volume.shown(&storage));
        task.log(format!("target node: {node}"));
        task.log(format!("target file: {target}"));
        task.log(format!("file size is: {size}"));
        task.log(format!("command: cp -- {shown} {target}"));
        fs::create_dir_all(to.parent().unwrap_or(&to)).map_err(|e| e.to_string())?;
        // the lab's own images are links to the files that it keeps for the next time
        if to.exists() {
            fs::remove_file(&to).map_err(|e| e.to_string())?;
        }
        if storage.free.is_some_and(|free| free < size) {
            // what cp had written by then stays
            fs::write(&to, b"cut off").map_err(|e| e.to_string())?;
            return Err(format!(
                "import failed: cp: error writing '{target}': No space left on device"
            ));
        }
        let copied = Command::new("cp")
            .args(["--sparse=always", "--"])
            .args([spool.path(), &to])
            .output()
            .map_err(|e| e.to_string())?;
        if !copied.status.success() {
            let text = String::from_utf8_lossy(&copied.stderr);
            return Err(format!("import failed: {}", text.trim()));
        }
        task.log("finished file import successfully");
        Ok(())
    })
}

/// The algorithm and the sum that were given.
fn sum_of(call: &Call) -> Option<(String, String)> {
    let algorithm = call.params.get("checksum-algorithm")?;
    Some((algorithm.to_owned(), call.params.get("checksum")?.to_owned()))
}

fn verify(task: &TaskHandle, file: &Path, wanted: Option<&(String, String)>) -> Result<(), String> {
    let Some((algorithm, expected)) = wanted else { return Ok(()) };
    let calculating = "calculating checksum...";
    let got = sum_by(algorithm, file)?;
    if !got.eq_ignore_ascii_case(expected) {
        task.log(calculating);
        return Err(format!("checksum mismatch: got '{got}' != expect '{expected}'"));
    }
    task.log(format!("{calculating}OK, checksum verified"));
    Ok(())
}

fn sum_by(algorithm: &str, file: &Path) -> Result<String, String> {
    let mut file = fs::File::open(file).map_err(|e| e.to_string())?;
    match algorithm {
        "sha224" => sum::<Sha224>(&mut file),
        "sha256" => sum::<Sha256>(&mut file),
        "sha384" => sum::<Sha384>(&mut file),
        "sha512" => sum::<Sha512>(&mut file),
        other => return Err(format!("the lab does not know checksums of {other}")),
    }
    .map_err(|e| e.to_string())
}

fn sum<D: Digest>(file: &mut fs::File) -> io::Result<String> {
    let mut hasher = D::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hasher.update(&chunk[..read]);
    }
}

fn is_qcow2(file: &Path) -> bool {
    let mut magic = [0; 4];
    let read = fs::File::open(file).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"QFI\xfb"
}

fn download(call: Call) -> ApiResult {
    let path = format!("/storage/{}", call.params.text("storage"));
    call.require(&path, "Datastore.AllocateTemplate")?;
    let content = call.params.text("content").to_owned();
    let name = normalized(call.params.text("filename"));
    check_name(&content, &name)?;
    let storage = storage(&call, &content)?;
    let compression = call.params.get("compression").map(str::to_owned);
    if compression.is_some() && content != "iso" {
        return Err(ApiError::internal(format!("decompression not supported for {content}")));
    }
    let url = call.params.text("url").to_owned();
    let wanted = sum_of(&call);
    call.task("download", &name.clone(), move |task| {
        let volume = Volume::parse(&format!("{}:{content}/{name}", storage.id))
            .ok_or("unable to parse volume ID")?;
        let (to, shown) = (volume.file(&storage), volume.shown(&storage));
        task.log(format!("downloading {url} to {shown}"));
        if to.exists() {
            return there(task, &to, &shown, wanted.as_ref());
        }
        let folder = to.parent().unwrap_or(&to).to_owned();
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let mut partial = tempfile::Builder::new()
            .prefix(&format!("{name}{PARTIAL}"))
            .tempfile_in(folder)
            .map_err(|e| e.to_string())?;
        let failed = |text: String| format!("download failed: {text}");
        let mut answer = fetch("GET", &url).map_err(failed)?;
        if answer.status >= 400 {
            return Err(failed(format!("ERROR {}: {}.", answer.status, answer.reason)));
        }
        answer
            .save(
                partial.as_file_mut(),
                |saved| task.log(format!("{}K ..........", saved >> 10)),
                || task.interrupted(),
            )
            .map_err(failed)?;
        verify(task, partial.path(), wanted.as_ref())?;
        if let Some(compression) = &compression {
            decompress(compression, partial.path())?;
        }
        partial.persist(&to).map_err(|e| e.to_string())?;
        task.log(format!("download of '{url}' to '{shown}' finished"));
        Ok(())
    })
}

/// What a node does with a name that is taken (`PVE::Tools::download_file_from_url`): with a
/// checksum it takes that of the file that is there, and asks nobody for another.
fn there(
    task: &TaskHandle,
    file: &Path,
    shown: &str,
    wanted: Option<&(String, String)>,
) -> Result<(), String> {
    let Some((algorithm, expected)) = wanted else {
        return Err(format!("refusing to override existing file '{shown}'"));
    };
    let calculating = "calculating checksum of existing file...";
    let got = sum_by(algorithm, file)?;
    if !got.eq_ignore_ascii_case(expected) {
        task.log(calculating);
        return Err(format!("checksum mismatch: got '{got}' != expect '{expected}', aborting"));
    }
    task.log(format!("{calculating}OK, got correct file already, no need to download"));
    Ok(())
}

/// What a node does with an installation medium.
fn decompress(compression: &str, file: &Path) -> Result<(), String> {
    let program = match compression {
        "gz" => "gzip",
        "zst" => "zstd",
        "bz2" => "bzip2",
        "lzo" => "lzop",
        other => return Err(format!("unknown compression '{other}'")),
    };
    let input = fs::File::open(file).map_err(|e| e.to_string())?;
    let output = Command::new(program)
        .arg("-dc")
        .stdin(input)
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    if !output.status.success() {
        return Err(format!("command '{program} -dc' failed: exit code 1"));
    }
    fs::write(file, output.stdout).map_err(|e| e.to_string())
}

fn metadata(call: Call) -> ApiResult {
    let url = call.params.text("url");
    let wrong = |text: String| ApiError::internal(format!("invalid server response: '{text}'"));
    let answer = fetch("HEAD", url).map_err(|text| wrong(format!("500 {text}")))?;
    if answer.status >= 400 {
        return Err(wrong(format!("{} {}", answer.status, answer.reason)));
    }
    let name = url.rsplit('/').next().unwrap_or_default();
    let mut told = json!({"filename": name, "mimetype": answer.kind});
    if let Some(length) = answer.length {
        told["size"] = json!(length);
    }
    Ok(told)
}
