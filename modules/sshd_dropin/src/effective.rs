//! What sshd says is in force, and which line is the reason when it is not ours. Pure.

use std::collections::BTreeMap;

use crate::config::{Directive, is_adding, is_exclusive, split};

/// The output of `sshd -T`: the values of each keyword in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Dump(BTreeMap<String, Vec<String>>);

impl Dump {
    pub(crate) fn parse(text: &str) -> Self {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in text.lines() {
            let (keyword, value) = line.split_once(' ').unwrap_or((line, ""));
            values.entry(keyword.to_ascii_lowercase()).or_default().push(value.trim().to_owned());
        }
        Self(values)
    }

    /// All values of a keyword.
    pub(crate) fn all(&self, keyword: &str) -> &[String] {
        self.0.get(keyword).map_or(&[], Vec::as_slice)
    }

    /// The first value of a keyword.
    pub(crate) fn first(&self, keyword: &str) -> &str {
        self.all(keyword).first().map_or("", String::as_str)
    }
}

/// A setting of ours that is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// Our line.
    pub(crate) wanted: String,
    /// What is in force, as `sshd -T` says it.
    pub(crate) effective: Vec<String>,
    /// The line that decides, if it was found.
    pub(crate) winner: Option<Winner>,
    /// The connection for which it was asked, if not for everyone.
    pub(crate) connection: Option<String>,
}

/// The line that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Winner {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The criteria of its `Match`.
    pub(crate) criteria: Option<String>,
    /// Whether it adds to ours and does not replace it.
    pub(crate) adds: bool,
}

impl Winner {
    fn of(directive: &Directive, adds: bool) -> Self {
        Self {
            file: directive.file.clone(),
            line: directive.line,
            text: directive.text.clone(),
            criteria: directive.conditions.last().map(|condition| condition.criteria.clone()),
            adds,
        }
    }
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "'{}' is not in force", self.wanted)?;
        if let Some(connection) = &self.connection {
            write!(f, " for {connection}")?;
        }
        if let Some(winner) = &self.winner {
            let does = if winner.adds { "adds" } else { "comes first with" };
            write!(f, ": {}:{} {does} '{}'", winner.file, winner.line, winner.text)?;
            if let Some(criteria) = &winner.criteria {
                write!(f, " in 'Match {criteria}'")?;
            }
        }
        if !self.effective.is_empty() {
            write!(f, " (in force: {})", self.effective.join(", "))?;
        }
        Ok(())
    }
}

/// What is compared: our lines, everything that is read, and the two answers of sshd.
#[derive(Clone)]
pub(crate) struct Question<'a> {
    /// Our lines that should hold for this connection.
    pub(crate) own: Vec<&'a Directive>,
    /// All lines in the order of reading.
    pub(crate) all: &'a [Directive],
    /// What is in force with the file in its place.
    pub(crate) effective: &'a Dump,
    /// What would be in force if our file were read before everything else.
    pub(crate) wanted: &'a Dump,
    /// The user of the connection.
    pub(crate) user: &'a str,
    /// The connection, if it is not the ordinary one.
    pub(crate) connection: Option<&'a str>,
}

/// Our settings that are not in force.
pub(crate) fn conflicts(question: &Question<'_>) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for own in &question.own {
        let keyword = own.keyword.as_str();
        let conflict = |winner: Option<Winner>| Conflict {
            wanted: own.text.clone(),
            effective: question.effective.all(keyword).to_vec(),
            winner,
            connection: question.connection.map(ToOwned::to_owned),
        };
        if is_adding(keyword) {
            if !seen.contains(&keyword) && is_exclusive(keyword) {
                let other = adding_line(question, keyword);
                conflicts.extend(other.map(|line| conflict(Some(Winner::of(line, true)))));
            }
        } else if seen.contains(&keyword) && keyword != "subsystem" {
            let first = question.own.iter().find(|line| line.keyword == keyword);
            let differs = first.filter(|first| arguments(first) != arguments(own));
            conflicts.extend(differs.map(|line| conflict(Some(Winner::of(line, false)))));
        } else {
            let in_force = if question.wanted.all(keyword).is_empty() {
                // sshd does not show this keyword; the order of the lines has to do
                let first = question.all.iter().find(|line| same(line, own) && line.is_global());
                first.is_none_or(|line| arguments(line) == arguments(own))
            } else {
                question.effective.all(keyword) == question.wanted.all(keyword)
            };
            if !in_force {
                let winner = winner(question, own);
                conflicts.push(conflict(winner.map(|line| Winner::of(line, false))));
            }
        }
        seen.push(keyword);
    }
    conflicts
}

/// The line that decides in place of ours: the first that holds in a `Match`, else the first for
/// everyone, else one whose `Match` we cannot judge.
fn winner<'a>(question: &Question<'a>, own: &Directive) -> Option<&'a Directive> {
    let lines = || question.all.iter().filter(|line| same(line, own) && !is_own(question, line));
    let conditional = || lines().filter(|line| !line.is_global());
    conditional()
        .find(|line| line.holds_for(question.user))
        .or_else(|| {
            let first = question.all.iter().find(|line| same(line, own) && line.is_global());
            first.filter(|line| !is_own(question, line))
        })
        .or_else(|| conditional().next())
        .or_else(|| lines().next())
}

/// Whether two lines set the same thing; a subsystem is one thing by its name.
fn same(line: &Directive, own: &Directive) -> bool {
    line.keyword == own.keyword
        && (own.keyword != "subsystem" || arguments(line).first() == arguments(own).first())
}

fn is_own(question: &Question<'_>, line: &Directive) -> bool {
    question.own.iter().any(|own| own.file == line.file)
}

/// A line elsewhere that adds a value we did not ask for.
fn adding_line<'a>(question: &Question<'a>, keyword: &str) -> Option<&'a Directive> {
    let ours: Vec<String> = question
        .own
        .iter()
        .filter(|line| line.keyword == keyword)
        .flat_map(|line| arguments(line))
        .collect();
    question.all.iter().find(|line| {
        line.keyword == keyword
            && line.is_global()
            && !is_own(question, line)
            && arguments(line).iter().any(|value| !ours.contains(value))
    })
}

fn arguments(line: &Directive) -> Vec<String> {
    split(&line.text).into_iter().skip(1).collect()
}

#[cfg(test)]
mod tests;
