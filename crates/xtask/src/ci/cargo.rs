//! The steps that Cargo does.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::gate::{Ended, Tally};
use crate::workspace::{Workspace, file_name, program};

pub(super) fn fmt(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    if program("cargo-fmt").is_none() {
        tally.skip("cargo fmt", "it is not installed");
        return Ok(());
    }
    tally.gate("cargo fmt", workspace.cargo().args(["fmt", "--all", "--check"]))?;
    Ok(())
}

pub(super) fn clippy(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    if program("cargo-clippy").is_none() {
        tally.skip("cargo clippy", "it is not installed");
        return Ok(());
    }
    let mut command = workspace.cargo();
    command.args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    tally.gate("cargo clippy", &mut command)?;
    Ok(())
}

/// Licences, sources and bans of foreign crates, as deny.toml says.
pub(super) fn deny(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    if program("cargo-deny").is_none() {
        tally.skip("cargo deny", "it is not installed");
        return Ok(());
    }
    let mut command = workspace.cargo();
    command.args(["deny", "--offline", "check", "bans", "licenses", "sources"]);
    tally.gate("cargo deny", &mut command)?;
    Ok(())
}

/// All tests but those in comments. Cargo builds them; their programs are run here, since Cargo runs
/// one after the other.
pub(super) fn test(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let mut build = workspace.cargo();
    build.args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-run"]);
    build.args(["--message-format", "json-render-diagnostics"]);
    let built = tally.run("cargo test", &mut build, &|_| ())?;
    if !built.success() {
        tally.fail("cargo test", &built.tail());
        return Ok(());
    }
    println!("   built in {:.1} s", built.took.as_secs_f64());
    let programs = test_programs(&built.output);
    ensure!(!programs.is_empty(), "cargo has built no tests");
    tally.run_beside(programs, |tally, name, ended| match ended {
        Ok(ended) => counted(&name, ended, tally),
        Err(error) => tally.fail(&name, &format!("{error:#}")),
    });
    Ok(())
}

/// The programs with tests that Cargo says it has built, to be run where Cargo would.
fn test_programs(messages: &str) -> Vec<(String, Command)> {
    let program = |message: Value| {
        let executable =
            message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
        let package = Path::new(message["manifest_path"].as_str()?).parent()?;
        let target = &message["target"];
        let kind = target["kind"][0].as_str()?;
        let of = if kind == "test" { target["name"].as_str()? } else { kind };
        let mut command = Command::new(executable);
        command.current_dir(package).env("CARGO_MANIFEST_DIR", package);
        Some((format!("{} {of}", file_name(package)), command))
    };
    messages.lines().filter_map(|line| program(serde_json::from_str(line).ok()?)).collect()
}

pub(super) fn doctest(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--doc"]);
    counted("cargo test --doc", tally.run("doc tests", &mut command, &|_| ())?, tally);
    Ok(())
}

/// Adds the tests that a program ran.
fn counted(name: &str, ended: Ended, tally: &mut Tally) {
    let (passed, failures) = results(&ended.output);
    let (failed, took) = (failures.len(), ended.took.as_secs_f64());
    println!("   {name}: {passed} passed, {failed} failed, {took:.1} s");
    if !failures.is_empty() || !ended.success() {
        println!("{}", ended.tail());
    }
    let nothing_named = failures.is_empty();
    tally.add(passed, failures);
    if nothing_named && !ended.success() {
        // it did not compile, or a test ended its whole program
        tally.fail(name, "it ended before it could say which test failed");
    }
}

/// The number of tests that passed, and the names of those that failed.
fn results(output: &str) -> (usize, Vec<String>) {
    let mut passed = 0;
    let mut counted = 0;
    let mut failures = Vec::new();
    for line in output.lines() {
        if let Some(result) = line.strip_prefix("test result: ") {
            passed += number_before(result, " passed");
            counted += number_before(result, " failed");
        } else if let Some(name) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.strip_suffix(" ... FAILED").or(rest.strip_suffix(" ... failed")))
        {
            failures.push(name.to_owned());
        }
    }
    // a test that prints beside the harness hides its own line
    for index in failures.len()..counted {
        failures.push(format!("test {} of those whose name was not printed", index + 1));
    }
    (passed, failures)
}

fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_tests_are_told_from_others() {
        let messages = r#"
   Compiling pve_vm v0.1.0
{"reason":"compiler-artifact","manifest_path":"/p/modules/pve_vm/Cargo.toml","target":{"kind":["bin"],"name":"pve_vm"},"profile":{"test":false},"executable":"/t/pve_vm"}
{"reason":"compiler-artifact","manifest_path":"/p/modules/pve_vm/Cargo.toml","target":{"kind":["bin"],"name":"pve_vm"},"profile":{"test":true},"executable":"/t/pve_vm-1"}
{"reason":"compiler-artifact","manifest_path":"/p/modules/pve_vm/Cargo.toml","target":{"kind":["test"],"name":"contract"},"profile":{"test":true},"executable":"/t/contract-1"}
{"reason":"compiler-artifact","manifest_path":"/p/crates/secret/Cargo.toml","target":{"kind":["lib"],"name":"secret"},"profile":{"test":false},"executable":null}
{"reason":"build-finished","success":true}
"#;
        let programs = test_programs(messages);
        let told: Vec<_> = programs
            .iter()
            .map(|(name, c)| (name.as_str(), c.get_program().to_str(), c.get_current_dir()))
            .collect();
        let folder = Some(Path::new("/p/modules/pve_vm"));
        assert_eq!(
            told,
            [
                ("pve_vm bin", Some("/t/pve_vm-1"), folder),
                ("pve_vm contract", Some("/t/contract-1"), folder)
            ]
        );
    }

    #[test]
    fn result_lines_are_added_up() {
        let output = "\
running 2 tests
test a::b ... ok
test a::c ... FAILED

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
        assert_eq!(results(output), (13, vec!["a::c".to_owned()]));
        assert_eq!(results("error: could not compile"), (0, vec![]));
        let (passed, failures) = results("test result: FAILED. 0 passed; 2 failed; 0 ignored;");
        assert_eq!((passed, failures.len()), (0, 2));
    }
}
