//! What is there. Reads only, but for a comparison with a fresh transfer, which a task asks for and
//! which leaves nothing.

use ansible_module::Failure;
use pve_client::{Content as Row, Error};
use pve_types::{NodeName, VolId};

use crate::found::{Copy, Found, Proof, There};
use crate::names;
use crate::nodes::{Seat, seats};
use crate::params::{Decompress, Params, State};
use crate::plan::plan;
use crate::preflight::{self, Work};
use crate::request::{Origin, Source};
use crate::source;
use crate::target::Session;
use crate::transfer;
use crate::verify;

/// Reads what there is of the file on each node, and looks for what stands against the plan.
///
/// # Errors
/// When the state cannot be read, or something stands against the plan.
pub(crate) async fn observe(params: &Params, session: &mut Session) -> Result<Found, Failure> {
    let mut found = named(session).await?;
    let mut problems = Vec::new();
    let seats = seats(session, &mut problems).await?;
    for seat in &seats {
        let copy = copy(session, seat, &found).await?;
        found.copies.push(copy);
    }
    expect(params, session, &mut found).await?;
    session.expected = found.expected;
    let changes = plan(params, &found)?;
    if session.applied {
        return Ok(found);
    }
    let (asking, proving) = proving(params, session, &found).await;
    let shared = seats.iter().any(Seat::is_shared);
    let work = Work {
        seats: &seats,
        found: &found,
        changes: &changes,
        proving: &proving,
        asking: &asking,
        shared,
    };
    if let Some(prepared) = session.prepared.as_ref().filter(|_| !work.receiving().is_empty()) {
        problems.extend(source::wrong(prepared, &found.name)?);
    }
    preflight::check(session, &work, problems).await?;
    if session.run.check_mode {
        if !asking.is_empty() || !proving.is_empty() {
            session.run.warn("verify: nothing is transferred in check mode, so nothing is proven");
        }
    } else if prove(session, &mut found, asking, proving).await? {
        // what is other content only now is looked at as what was so from the beginning
        let changes = plan(params, &found)?;
        let (proving, asking): (&[_], &[_]) = (&[], &[]);
        let work =
            Work { seats: &seats, found: &found, changes: &changes, proving, asking, shared };
        preflight::check(session, &work, Vec::new()).await?;
    }
    unproven(params, session, &found);
    Ok(found)
}

/// The file that is meant. A name that says the content of a file here takes reading it.
async fn named(session: &mut Session) -> Result<Found, Failure> {
    let request = session.request.clone();
    let mut checksum = request.checksum.clone();
    let local = match &request.origin {
        Some(Origin::Upload { source: Source::File(path), .. }) => Some(path.clone()),
        _ => None,
    };
    if let Some(path) = local.filter(|_| checksum.is_none() && request.name.is_none()) {
        checksum = Some(source::published(session, &path)?);
    }
    let name = request.name.clone().unwrap_or_else(|| {
        let stem = || request.origin.as_ref().map(Origin::stem).unwrap_or_default();
        let called = request.called.clone().unwrap_or_else(stem);
        names::by_content(request.content, &called, checksum.as_ref().map(|sum| sum.hex()))
    });
    session.name.clone_from(&name);
    Ok(Found {
        volid: Some(request.volid(&name)),
        says: checksum.as_ref().is_some_and(|sum| names::says(&name, sum.hex())),
        name,
        checksum,
        expected: None,
        by_node: matches!(request.origin, Some(Origin::Node { .. })),
        copies: Vec::new(),
    })
}

/// What there is on one node, once nothing is on its way there any more.
async fn copy(session: &mut Session, seat: &Seat, found: &Found) -> Result<Copy, Failure> {
    let node = seat.node.clone();
    let mut copy = Copy {
        proof: session.proofs.get(&node).cloned(),
        node,
        there: None,
        leftovers: Vec::new(),
    };
    if !seat.is_open() {
        return Ok(copy);
    }
    let busy = transfer::under_way(session, &copy.node, &found.name).await;
    if !busy.is_empty() && session.run.check_mode {
        let text = format!("{} is just being downloaded to {}", found.label(), copy.node);
        session.run.warn(text);
    } else {
        for upid in &busy {
            // begun by a run that did not see its end, or by another: its outcome is what counts
            session.follow(upid).await.ok();
        }
    }
    for row in list(session, &copy.node).await? {
        let file = row.volid.file_name();
        if file == found.name {
            copy.there = Some(There { size: row.size });
        } else if names::is_temporary(file, &found.name) && !file.contains(&session.mark) {
            copy.leftovers.push(row.volid);
        }
    }
    let mut kept = Vec::new();
    for volid in copy.leftovers {
        if transfer::under_way(session, &copy.node, volid.file_name()).await.is_empty() {
            kept.push(volid);
        }
    }
    copy.leftovers = kept;
    Ok(copy)
}

/// The files of the content that is meant.
pub(crate) async fn list(session: &Session, node: &NodeName) -> Result<Vec<Row>, Failure> {
    let content = session.request.content.word();
    let rows = session.storage(node).content(Some(content)).await;
    let rows = rows.map_err(|error| {
        let storage = &session.request.storage;
        Failure::from(error).context(&format!("failed to list storage {storage} on {node}"))
    })?;
    Ok(rows.into_iter().filter(|row| row.volid.content() == Some(content)).collect())
}

/// Finds out the size that is wanted, where that decides anything.
async fn expect(params: &Params, session: &mut Session, found: &mut Found) -> Result<(), Failure> {
    if params.state == State::Absent {
        return Ok(());
    }
    let missing = found.copies.iter().any(|copy| copy.there.is_none());
    let compared = found.copies.iter().any(|copy| copy.there.is_some() && !found.says);
    match session.request.origin.clone() {
        Some(Origin::Upload { source: Source::File(path), compression: Decompress::None }) => {
            // also of a name that says the content: a file that was cut off is found by its size
            found.expected = Some(source::size(&path)?);
            if missing {
                source::prepare(session).await?;
            }
        }
        Some(Origin::Upload { .. })
            if compared || params.verify || (missing && !session.run.check_mode) =>
        {
            source::prepare(session).await?;
        }
        Some(Origin::Node { url, compression: None }) if compared || missing => {
            let node = found.copies.first().map(|copy| copy.node.clone());
            if let Some(node) = node {
                let told = session.client.node(&node).url_metadata(&url).await;
                found.expected = told.ok().and_then(|told| told.size).filter(|size| *size > 0);
            }
        }
        _ => {}
    }
    if let Some(prepared) = &session.prepared {
        found.expected = Some(prepared.size);
        found.checksum.get_or_insert_with(|| prepared.published.clone());
    }
    Ok(())
}

/// The nodes that are asked for the checksum of their file, and those whose file is compared with a
/// fresh transfer.
async fn proving(
    params: &Params,
    session: &Session,
    found: &Found,
) -> (Vec<NodeName>, Vec<NodeName>) {
    let (mut asking, mut proving) = (Vec::new(), Vec::new());
    if !params.verify || params.state == State::Absent {
        return (asking, proving);
    }
    let there = found.copies.iter().filter(|copy| copy.there.is_some() && copy.proof.is_none());
    for node in there.map(|copy| copy.node.clone()) {
        let list = if verify::is_asked(session, &node).await { &mut asking } else { &mut proving };
        list.push(node);
    }
    (asking, proving)
}

/// Proves the files, and tells whether one of them is another.
async fn prove(
    session: &mut Session,
    found: &mut Found,
    asking: Vec<NodeName>,
    mut proving: Vec<NodeName>,
) -> Result<bool, Failure> {
    let mut proofs = Vec::new();
    for node in asking {
        match verify::ask(session, found, &node).await? {
            Some(proof) => proofs.push((node, proof)),
            None => proving.push(node),
        }
    }
    for node in proving {
        let proof = verify::transfer(session, found, &node).await?;
        proofs.push((node, proof));
    }
    let other = proofs.iter().any(|(_, proof)| *proof != Proof::Same);
    for (node, proof) in proofs {
        for copy in found.copies.iter_mut().filter(|copy| copy.node == node) {
            copy.proof = Some(proof.clone());
        }
        session.proofs.insert(node, proof);
    }
    Ok(other)
}

/// A file of which nothing but its name is known is told of.
fn unproven(params: &Params, session: &Session, found: &Found) {
    if params.state == State::Absent || found.says || found.expected.is_some() {
        return;
    }
    for copy in found.copies.iter().filter(|copy| copy.there.is_some() && copy.proof.is_none()) {
        session.run.warn(format!(
            "{} is there on {}, and that it has the content that is asked for could not be compared: \
             the size of the source is not known; verify proves it",
            found.label(),
            copy.node
        ));
    }
}

/// A volume as it is now.
pub(crate) async fn present(
    session: &Session,
    node: &NodeName,
    volid: &VolId,
) -> Result<Option<Row>, Failure> {
    Ok(list(session, node).await?.into_iter().find(|row| row.volid == *volid))
}

/// Whether nobody knows what became of a call.
pub(crate) fn is_lost(error: &Error) -> bool {
    matches!(error, Error::MaybeSent { .. })
}
