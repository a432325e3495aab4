//! The host's side of the guest agent: one command, one answer, over the agent's socket.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driver::AgentError;

/// Commands that reach file systems below the guest's own: the guest's root is a file on the
/// host's disk, and the agent inside would freeze or trim what that file lies on.
pub(crate) const BLOCKED: &str =
    "guest-fsfreeze-freeze,guest-fsfreeze-freeze-list,guest-fsfreeze-thaw,guest-fstrim";

/// No two calls have the same mark, so that none takes the other's answer for its own.
static MARKS: AtomicU64 = AtomicU64::new(1);

/// Sends a command and returns what stands under `return`.
pub(crate) fn call(
    socket: &Path,
    command: &str,
    arguments: &Value,
    timeout: Duration,
) -> Result<Value, AgentError> {
    // The file stays when the agent goes, so only connecting tells.
    let stream = UnixStream::connect(socket).map_err(|_| AgentError::NotRunning)?;
    let mut wire = Wire { reader: BufReader::new(stream), deadline: Instant::now() + timeout };
    // What a former client did not read may still be on the way; the mark says where that ends.
    let mark = u64::from(std::process::id()) << 24 | MARKS.fetch_add(1, Ordering::Relaxed);
    wire.send(&json!({"execute": "guest-sync-delimited", "arguments": {"id": mark}}), true)?;
    loop {
        match wire.receive()? {
            Some(answer) if answer["return"] == json!(mark) => break,
            Some(_) => {}
            None => return Err(AgentError::NotRunning),
        }
    }
    let mut request = json!({"execute": command});
    if arguments.as_object().is_some_and(|a| !a.is_empty()) {
        request["arguments"] = arguments.clone();
    }
    wire.send(&request, false)?;
    match wire.receive()? {
        // A guest that powers off says no word.
        None => Ok(Value::Null),
        Some(mut answer) => match answer.get("error") {
            Some(error) => Err(AgentError::Refused(
                error["desc"].as_str().unwrap_or("unknown error").to_owned(),
            )),
            None => Ok(answer["return"].take()),
        },
    }
}

struct Wire {
    reader: BufReader<UnixStream>,
    deadline: Instant,
}

impl Wire {
    fn limit(&self) -> Result<Duration, AgentError> {
        self.deadline
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
            .ok_or(AgentError::Timeout)
    }

    fn send(&mut self, request: &Value, reset: bool) -> Result<(), AgentError> {
        let limit = self.limit()?;
        let stream = self.reader.get_mut();
        let mut bytes = if reset { vec![0xff] } else { Vec::new() };
        bytes.extend(request.to_string().bytes());
        bytes.push(b'\n');
        stream
            .set_write_timeout(Some(limit))
            .and_then(|()| stream.write_all(&bytes))
            .map_err(|e| broken(&e))
    }

    /// The next line as JSON; nothing at the end of the connection.
    fn receive(&mut self) -> Result<Option<Value>, AgentError> {
        loop {
            let limit = self.limit()?;
            self.reader.get_ref().set_read_timeout(Some(limit)).map_err(|e| broken(&e))?;
            let mut line = Vec::new();
            match self.reader.read_until(b'\n', &mut line) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                // A guest that powers off may also drop the connection.
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(None),
                Err(e) => return Err(broken(&e)),
            }
            let text = line.split(|b| *b == 0xff).next_back().unwrap_or_default();
            if let Ok(answer) = serde_json::from_slice(text) {
                return Ok(Some(answer));
            }
        }
    }
}

fn broken(error: &std::io::Error) -> AgentError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => AgentError::Timeout,
        _ => AgentError::NotRunning,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// An agent that answers the mark rightly and the command with these lines.
    fn answer(lines: &'static str, hold: bool) -> Result<Value, AgentError> {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("agent");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let agent = thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            reader.read_until(b'\n', &mut line).expect("the mark");
            assert_eq!(line[0], 0xff);
            let mark: Value = serde_json::from_slice(&line[1..]).expect("JSON");
            let reply = json!({"return": mark["arguments"]["id"]});
            let stream = reader.get_mut();
            stream.write_all(b"{\"return\": \"old\"}\n").expect("old");
            stream.write_all(b"\xff").expect("mark");
            writeln!(stream, "{reply}").expect("mark");
            reader.read_until(b'\n', &mut line).expect("the command");
            reader.get_mut().write_all(lines.as_bytes()).expect("lines");
            if hold {
                // Until the client gives up.
                let _ = reader.read_until(b'\n', &mut line);
            }
        });
        let answer = call(&socket, "guest-ping", &json!({}), Duration::from_millis(200));
        agent.join().expect("the agent");
        answer
    }

    #[test]
    fn sorts_answers() {
        let rows = [
            ("answer", "{\"return\": {}}\n", false, Ok(json!({}))),
            (
                "refusal",
                "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"The command x has not been found\"}}\n",
                false,
                Err(AgentError::Refused("The command x has not been found".to_owned())),
            ),
            ("power off", "", false, Ok(Value::Null)),
            ("silence", "", true, Err(AgentError::Timeout)),
        ];
        for (name, lines, hold, expected) in rows {
            assert_eq!(answer(lines, hold), expected, "{name}");
        }
    }

    #[test]
    fn nobody_listens() {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("agent");
        let result = call(&socket, "guest-ping", &json!({}), Duration::from_secs(1));
        assert_eq!(result, Err(AgentError::NotRunning));
        drop(UnixListener::bind(&socket).expect("a socket"));
        let result = call(&socket, "guest-ping", &json!({}), Duration::from_secs(1));
        assert_eq!(result, Err(AgentError::NotRunning), "the file alone is no agent");
    }
}
