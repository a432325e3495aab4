//! Plays recorded calls against a lab that begins in the state they were recorded in: each answer
//! has the recorded status, reason, keys, types and texts, and each task ends as recorded.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;

use std::time::{Duration, Instant};

use client::{Answer, Client};
use pve_lab::{Lab, LabConfig, PveVersion, Start};
use regex_lite::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct Recorded {
    name: String,
    auth: String,
    method: String,
    target: String,
    body: Option<String>,
    #[serde(default)]
    json: bool,
    status: u16,
    reason: String,
    shape: Value,
    #[serde(default)]
    errors: Map<String, Value>,
    message: Option<String>,
    task: Option<String>,
    #[serde(default = "yes")]
    compare: bool,
}

fn yes() -> bool {
    true
}

/// Takes out what differs from one run to the next.
struct Plain(Vec<(Regex, &'static str)>);

impl Plain {
    fn new() -> Self {
        let rules = [
            (r#"UPID:[^\s"']+"#, "UPID"),
            (r"(?i)\b[0-9A-F]{2}(:[0-9A-F]{2}){5}\b", "MAC"),
            ("[0-9a-f]{40}", "HASH"),
            (r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b", "UUID"),
            (r"\d+", "0"),
        ];
        Self(rules.iter().map(|(rule, word)| (Regex::new(rule).unwrap(), *word)).collect())
    }

    fn text(&self, text: &str) -> String {
        let text = text.to_owned();
        let text = self
            .0
            .iter()
            .fold(text, |text, (rule, word)| rule.replace_all(&text, *word).into_owned());
        text.trim().to_owned()
    }
}

fn shape(value: &Value, depth: u32) -> Value {
    match value {
        Value::Object(map) if depth < 3 => {
            map.iter().map(|(key, value)| (key.clone(), shape(value, depth + 1))).collect()
        }
        Value::Object(_) => json!("object"),
        Value::Array(rows) if !rows.is_empty() && rows.iter().all(Value::is_object) => {
            let mut keys: Vec<&String> =
                rows.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
            keys.sort();
            keys.dedup();
            json!([keys])
        }
        Value::Array(rows) => {
            rows.first().map_or_else(|| json!([]), |first| json!([shape(first, depth + 1)]))
        }
        Value::String(_) => json!("string"),
        Value::Bool(_) => json!("boolean"),
        Value::Null => json!("null"),
        Value::Number(_) => json!("number"),
    }
}

const TOKENS: [(&str, &str); 5] = [
    ("root@pam!full", "f011"),
    ("root@pam!nopriv", "0001"),
    ("viewer@pve!ro", "0002"),
    ("ops@pve!vm", "0003"),
    ("ops@pve!sep", "0004"),
];

fn authorization(token: &str) -> Vec<(String, String)> {
    if token == "garbage" {
        return vec![("Authorization".into(), "PVEAPIToken=garbage".into())];
    }
    let last = TOKENS.iter().find(|(id, _)| *id == token).map_or("dead", |(_, last)| last);
    vec![(
        "Authorization".into(),
        format!("PVEAPIToken={token}=00000000-0000-4000-8000-{last:0>12}"),
    )]
}

fn ticket(client: &Client, method: &str) -> Vec<(String, String)> {
    let body = "username=root%40pam&password=pve-test-pw";
    let answer = client.call("POST", "/api2/json/access/ticket", &[], Some((body, false)));
    let data = &answer.json()["data"];
    let cookie = data["ticket"].as_str().unwrap().replace('+', "%2B").replace('=', "%3D");
    let mut headers = vec![("Cookie".to_owned(), format!("PVEAuthCookie={cookie}"))];
    if method != "GET" {
        let csrf = data["CSRFPreventionToken"].as_str().unwrap().to_owned();
        headers.push(("CSRFPreventionToken".to_owned(), csrf));
    }
    headers
}

fn finish(client: &Client, upid: &str) -> String {
    let node = upid.split(':').nth(1).unwrap();
    let target = format!("/api2/json/nodes/{node}/tasks/{upid}/status");
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        let answer = client.call("GET", &target, &authorization("root@pam!full"), None).json();
        if answer["data"]["status"] == "stopped" {
            return answer["data"]["exitstatus"].as_str().unwrap_or_default().to_owned();
        }
        std::thread::yield_now();
    }
    "still running".to_owned()
}

fn differences(
    recorded: &Recorded,
    answer: &Answer,
    end: Option<&str>,
    plain: &Plain,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, is: Value, was: Value| {
        if is != was {
            found.push(format!("{what} is {is}, was {was}"));
        }
    };
    let body = answer.try_json().unwrap_or(Value::Null);
    compare("status", json!(answer.status), json!(recorded.status));
    compare("reason", json!(plain.text(&answer.reason)), json!(recorded.reason));
    compare("body", shape(&body, 0), recorded.shape.clone());
    if let Some(message) = &recorded.message {
        let is = plain.text(body["message"].as_str().unwrap_or_default());
        compare("message", json!(is), json!(message));
    }
    for (key, text) in &recorded.errors {
        let is = plain.text(body["errors"][key].as_str().unwrap_or_default());
        compare(&format!("errors.{key}"), json!(is), text.clone());
    }
    compare("task", json!(end.map(|end| plain.text(end))), json!(recorded.task));
    found
}

fn replay(version: PveVersion, answers: &str, wanted: usize) {
    let lab = Lab::start(LabConfig { version, start: Start::Recordings, ..LabConfig::default() });
    let client = Client::new(lab.port(), lab.ca_pem());
    let plain = Plain::new();
    let mut problems = Vec::new();
    let mut compared = 0;
    for line in answers.lines().skip(1) {
        let recorded: Recorded = serde_json::from_str(line).unwrap();
        let headers = match recorded.auth.as_str() {
            "none" => Vec::new(),
            "ticket" => ticket(&client, &recorded.method),
            token => authorization(token),
        };
        let target = format!("/api2/json{}", recorded.target);
        let body = recorded.body.as_deref().map(|body| (body, recorded.json));
        let answer = client.call(&recorded.method, &target, &headers, body);
        let upid = answer
            .try_json()
            .and_then(|body| body["data"].as_str().map(str::to_owned))
            .filter(|data| data.starts_with("UPID:"));
        let end = upid.map(|upid| finish(&client, &upid));
        if recorded.compare {
            compared += 1;
            for problem in differences(&recorded, &answer, end.as_deref(), &plain) {
                problems.push(format!(
                    "{}: {} {}: {problem}",
                    recorded.name, recorded.method, recorded.target
                ));
            }
        }
    }
    assert!(problems.is_empty(), "{} differences:\n{}", problems.len(), problems.join("\n"));
    assert_eq!(compared, wanted, "the table lost rows");
}

#[test]
fn the_lab_answers_as_9_2_did() {
    replay(PveVersion::V9, include_str!("fixtures/answers-9.2.jsonl"), 378);
}

#[test]
fn the_lab_answers_as_8_4_did() {
    replay(PveVersion::V8, include_str!("fixtures/answers-8.4.jsonl"), 375);
}
