//! The steps that Cargo does.

use anyhow::Result;

use super::gate::{Ended, Tally};
use crate::workspace::{Workspace, program};

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

pub(super) fn test(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    counted("cargo test", tally.run("cargo test", &mut command, &show_target)?, tally);
    Ok(())
}

pub(super) fn doctest(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--doc"]);
    counted("cargo test --doc", tally.run("doc tests", &mut command, &|_| ())?, tally);
    Ok(())
}

/// Long steps say where they are.
fn show_target(line: &str) {
    if let Some(target) = line.trim_start().strip_prefix("Running ") {
        println!("   {target}");
    }
}

/// Adds the tests that Cargo ran.
fn counted(name: &str, ended: Ended, tally: &mut Tally) {
    let (passed, failures) = results(&ended.output);
    println!("   {passed} passed, {} failed", failures.len());
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
