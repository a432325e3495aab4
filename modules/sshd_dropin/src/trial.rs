//! The candidate as part of the whole: laid out as a staging copy, tested, and asked what would be
//! in force.

use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;

use ansible_module::Failure;
use managed_node::{Kind, Node, Output};

use crate::config::{self, Assembly, Content, Directive, MAIN, Matches, Source, Staged, Walk};
use crate::effective::{Conflict, Dump, Question, conflicts};
use crate::error::Error;
use crate::keys;
use crate::params::Params;
use crate::sshd::{ORDINARY_USER, Sshd, connection_of, stage};

/// What the trial showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Trial {
    /// Why sshd would refuse the configuration.
    pub(crate) broken: Option<Broken>,
    /// What sshd says although it accepts the configuration.
    pub(crate) warnings: Vec<String>,
    /// Where our file is read; nowhere means that it has no effect.
    pub(crate) included: Vec<config::Included>,
    /// Our settings that would not be in force.
    pub(crate) conflicts: Vec<Conflict>,
    /// What would be in force of our keywords.
    pub(crate) effective: BTreeMap<String, Vec<String>>,
    /// Users who could not log in any more, and why.
    pub(crate) keyless: Vec<String>,
    /// Where sshd would listen.
    pub(crate) listening: Vec<String>,
    /// Whether our file says where to listen.
    pub(crate) moves_port: bool,
}

/// A configuration that sshd refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// What sshd says.
    pub(crate) complaint: String,
    /// Whether it says so without our file too.
    pub(crate) before: bool,
}

/// The files of the node with one of them replaced or taken away.
pub(crate) struct Overlay<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: &'a str,
    pub(crate) text: Option<&'a str>,
}

impl Source for Overlay<'_> {
    fn read(&self, path: &str) -> Content {
        if path == self.path {
            return self.text.map_or(Content::Unreadable, |text| Content::Text(text.to_owned()));
        }
        let folder = self.node.follow(path).and_then(|path| self.node.kind(path));
        match folder {
            Ok(Some(Kind::Folder)) => Content::Folder,
            Ok(Some(Kind::Other)) if is_pipe(self.node, path) => Content::Unreadable,
            _ => self.node.read_text(path).map_or(Content::Unreadable, Content::Text),
        }
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let entries = self.node.list(folder).unwrap_or_default();
        let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
        // the folder itself may be missing yet
        let below = self.path.strip_prefix(folder.trim_end_matches('/'));
        if let Some(below) = below.and_then(|below| below.strip_prefix('/')) {
            let (name, is_file) = below.split_once('/').map_or((below, true), |(n, _)| (n, false));
            if is_file {
                names.retain(|known| known != name);
            }
            if self.text.is_some() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }
}

/// Tries the configuration with our file holding `text`, or without it.
pub(crate) fn run(node: &Node, params: &Params, text: Option<&str>) -> Result<Trial, Failure> {
    let main = node.read_text_if_any(MAIN)?.ok_or_else(|| Error::NoSshd { path: MAIN.into() })?;
    node.with_private_run(|private| {
        let folder = format!("/run/ferrite-sshd-{}", std::process::id());
        node.make_folder(&folder, 0o700)?;
        let result = Stage { node, params, main: &main, folder: &folder }.run(text);
        if !private {
            node.remove_tree(&folder)?;
        }
        result
    })
}

struct Stage<'a> {
    node: &'a Node,
    params: &'a Params,
    main: &'a str,
    folder: &'a str,
}

impl Stage<'_> {
    fn run(&self, text: Option<&str>) -> Result<Trial, Failure> {
        let path = self.params.path();
        let overlay = Overlay { node: self.node, path: &path, text };
        let walk = config::walk(&overlay, MAIN, self.main);
        if let Some(pipe) = walk.included.iter().find(|included| is_pipe(self.node, &included.file))
        {
            return Err(Error::Pipe { path: pipe.file.clone(), by: pipe.by.clone() }.into());
        }
        let candidate = self.lay_out("a", &overlay, None, Matches::Kept)?;
        let mut sshd = Sshd::new(self.node, self.folder)?;
        let output = sshd.test(&candidate.main())?;
        let mut trial = Trial {
            included: walk.included.iter().filter(|file| file.file == path).cloned().collect(),
            ..Trial::default()
        };
        let said = candidate.real_names(output.complaint());
        if !output.success() {
            trial.broken = Some(Broken {
                complaint: one_line(&said),
                before: self.was_broken(&mut sshd, &path)?,
            });
            return Ok(trial);
        }
        trial.warnings = said.lines().map(|line| line.trim().to_owned()).collect();
        if sshd.lent_a_key() {
            trial
                .warnings
                .push("sshd has no host key here; the test was made with one of its own".into());
        }
        // what is read nowhere cannot be in force
        if let Some(text) = text.filter(|_| !trial.included.is_empty()) {
            self.ask(&sshd, &candidate, &walk, text, &mut trial)?;
        }
        Ok(trial)
    }

    /// Whether sshd refuses the configuration without our file too.
    fn was_broken(&self, sshd: &mut Sshd<'_>, path: &str) -> Result<bool, Failure> {
        let without = Overlay { node: self.node, path, text: None };
        let before = self.lay_out("b", &without, None, Matches::Kept)?;
        Ok(!sshd.test(&before.main())?.success())
    }

    /// Asks what would be in force, and compares it with what would be if our file came first.
    fn ask(
        &self,
        sshd: &Sshd<'_>,
        candidate: &Assembly,
        walk: &Walk,
        text: &str,
        trial: &mut Trial,
    ) -> Result<(), Failure> {
        let path = self.params.path();
        let without = Overlay { node: self.node, path: &path, text: None };
        let ours = format!("{}/ours.conf", self.folder);
        stage(self.node, &ours, text)?;
        let first = self.lay_out("c", &without, Some(&ours), Matches::Kept)?;
        let plain = self.lay_out("d", &without, Some(&ours), Matches::LeftOut)?;

        // read on its own: what an Include in a Match does to our lines is not our text
        let own = config::walk(&without, &path, text).directives;
        let own: Vec<&Directive> = own.iter().filter(|line| line.file == path).collect();
        let global: Vec<&Directive> = own.iter().copied().filter(|line| line.is_global()).collect();
        let ask = |assembly: &Assembly, connection: Option<&str>| -> Result<Dump, Failure> {
            let output = sshd.dump(&assembly.main(), connection)?;
            accepted(&output, assembly).map(|()| Dump::parse(&output.stdout))
        };
        let ordinary = connection_of(ORDINARY_USER);
        let effective = ask(candidate, Some(&ordinary))?;
        let wanted = ask(&plain, None)?;
        trial.listening = effective.all("listenaddress").to_vec();
        trial.moves_port =
            own.iter().any(|line| matches!(line.keyword.as_str(), "port" | "listenaddress"));
        for line in &own {
            let values = effective.all(&line.keyword);
            if !values.is_empty() {
                trial.effective.insert(line.keyword.clone(), values.to_vec());
            }
        }
        if self.params.verify {
            let all = &walk.directives;
            let question = Question {
                own: global,
                all,
                effective: &effective,
                wanted: &wanted,
                user: ORDINARY_USER,
                connection: None,
            };
            trial.conflicts = conflicts(&question);
            for connection in self.params.verify_for.iter().flatten() {
                let effective = ask(candidate, Some(connection))?;
                trial.conflicts.extend(conflicts(&Question {
                    effective: &effective,
                    user: user_of(connection),
                    connection: Some(connection),
                    ..question.clone()
                }));
            }
            for (connection, lines) in own_blocks(&own, trial) {
                let (effective, wanted) =
                    (ask(candidate, Some(&connection))?, ask(&first, Some(&connection))?);
                trial.conflicts.extend(conflicts(&Question {
                    own: lines,
                    all,
                    effective: &effective,
                    wanted: &wanted,
                    user: user_of(&connection),
                    connection: Some(&connection),
                }));
            }
            warn_of_exceptions(&path, &own, all, trial);
        }
        for user in keys::users(self.params) {
            let dump = ask(candidate, Some(&connection_of(&user)))?;
            trial.keyless.extend(keys::lacking(self.node, &user, &dump)?);
        }
        Ok(())
    }

    fn lay_out(
        &self,
        name: &str,
        source: &dyn Source,
        first: Option<&str>,
        matches: Matches,
    ) -> Result<Assembly, Failure> {
        let folder = format!("{}/{name}", self.folder);
        self.node.make_folder(&folder, 0o700)?;
        let assembly = Assembly::new(source, self.main, &folder, first, matches);
        for (path, staged) in assembly.copies() {
            match staged {
                Staged::Text(text) => stage(self.node, &path, text)?,
                Staged::Dangling => self.node.link(&path, "/nonexistent/ferrite")?,
            }
        }
        Ok(assembly)
    }
}

/// Whether a reader of this file would wait for someone who writes.
fn is_pipe(node: &Node, path: &str) -> bool {
    let outside = node.follow(path).and_then(|path| node.locate(path));
    outside.is_ok_and(|path| path.metadata().is_ok_and(|meta| meta.file_type().is_fifo()))
}

fn accepted(output: &Output, assembly: &Assembly) -> Result<(), Failure> {
    if output.success() {
        return Ok(());
    }
    let said = one_line(&assembly.real_names(output.complaint()));
    Err(Failure::new(format!("failed to ask sshd what is in force: {said}")))
}

/// A connection for each `Match` of ours for which one can be made up, and the lines in it.
fn own_blocks<'a>(own: &[&'a Directive], trial: &mut Trial) -> Vec<(String, Vec<&'a Directive>)> {
    let mut blocks: Vec<(usize, &str, Vec<&Directive>)> = Vec::new();
    for line in own {
        let Some(condition) = line.conditions.last() else { continue };
        match blocks.iter_mut().find(|(at, ..)| *at == condition.line) {
            Some((.., lines)) => lines.push(line),
            None => blocks.push((condition.line, &condition.criteria, vec![line])),
        }
    }
    let mut connections = Vec::new();
    for (_, criteria, lines) in blocks {
        match config::example_connection(criteria) {
            Some(connection) => connections.push((connection, lines)),
            None => trial.warnings.push(format!(
                "the settings of 'Match {criteria}' were tested, but not seen in force: no \
                 connection can be made up for it; name one in verify_for"
            )),
        }
    }
    connections
}

/// Tells of lines elsewhere that except some connections from our settings.
fn warn_of_exceptions(path: &str, own: &[&Directive], all: &[Directive], trial: &mut Trial) {
    for line in all.iter().filter(|line| line.file != path && !line.is_global()) {
        let ours = |own: &&&Directive| own.is_global() && own.keyword == line.keyword;
        if let Some(own) = own.iter().find(ours)
            && let Some(condition) = line.conditions.last()
        {
            trial.warnings.push(format!(
                "'{}' does not hold for 'Match {}': {} says '{}'",
                own.text,
                condition.criteria,
                line.place(),
                line.text
            ));
        }
    }
}

fn user_of(connection: &str) -> &str {
    connection.split(',').find_map(|part| part.strip_prefix("user=")).unwrap_or(ORDINARY_USER)
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
