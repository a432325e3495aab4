//! What a person sees: a table of the guests, and how one guest's address came about.

use std::fmt::Write;

use pve_types::address::{Explanation, Policy};

use crate::fetch::Fetched;
use crate::guest::Guest;
use crate::hosts::Hosts;
use crate::output::printable;

/// A table with its columns aligned.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|c| c.chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Every guest with its address, or the reason why it has none.
pub(crate) fn guests(fetched: &Fetched, names: &Hosts) -> String {
    let header = ["HOST", "VMID", "KIND", "NODE", "STATUS", "ADDRESS", "SOURCE", "REASON"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for (node, name) in fetched.nodes.iter().zip(&names.nodes) {
        let status = if node.online { "online" } else { "offline" };
        let address = node.address.clone().unwrap_or_else(|| "-".to_owned());
        let cells = [name, "-", "node", &printable(&node.name), status, &address, "-", ""];
        rows.push(cells.map(str::to_owned).to_vec());
    }
    for guest in &fetched.guests {
        let (address, source) = match &guest.address {
            Ok(address) => (address.ip.to_string(), format!("{:?}", address.source).to_lowercase()),
            Err(_) => ("-".to_owned(), "-".to_owned()),
        };
        rows.push(vec![
            names.guests[&guest.key()].clone(),
            guest.vmid.to_string(),
            guest.kind.to_string(),
            guest.node.to_string(),
            printable(&guest.status),
            address,
            source,
            guest.reason().map(|reason| printable(&reason.text)).unwrap_or_default(),
        ]);
    }
    let mut text = table(&rows);
    for warning in &fetched.warnings {
        let _ = writeln!(text, "warning: {}", printable(warning));
    }
    text
}

/// How a guest's address was chosen.
pub(crate) fn explain(guest: &Guest, host: &str, policy: &Policy) -> String {
    let explanation = guest.find_address(policy).1;
    let mut text = String::new();
    let name = guest.name.as_deref().map(printable).unwrap_or_else(|| "without a name".to_owned());
    let _ = writeln!(
        text,
        "{host}: {} {} ({name}) on {}, {}",
        guest.kind.noun(),
        guest.vmid,
        guest.node,
        printable(&guest.status)
    );
    nics(guest, explanation.as_ref(), &mut text);
    interfaces(guest, &mut text);
    if let Some(explanation) = &explanation {
        if !explanation.matched.is_empty() {
            let names: Vec<String> = explanation.matched.iter().map(|n| printable(n)).collect();
            let _ = writeln!(text, "same MAC address: {}", names.join(", "));
        }
        for discarded in &explanation.discarded {
            let what = match discarded.address {
                Some(address) => format!("{} of {}", address, printable(&discarded.interface)),
                None => printable(&discarded.interface),
            };
            let _ = writeln!(text, "not taken: {what}: {}", discarded.why);
        }
    }
    match &guest.address {
        Ok(address) => {
            let source = format!("{:?}", address.source).to_lowercase();
            let _ = writeln!(text, "address: {} ({source})", address.ip);
        }
        Err(_) => text.push_str("address: none\n"),
    }
    if let Some(reason) = guest.reason() {
        let _ = writeln!(text, "reason: {}", printable(&reason.text));
    }
    text
}

fn nics(guest: &Guest, explanation: Option<&Explanation>, text: &mut String) {
    let Ok(config) = &guest.config else { return };
    let chosen = explanation.and_then(|explanation| explanation.nic);
    for (key, line) in config.iter() {
        if let Ok(slot) = key.parse::<pve_types::address::NetSlot>() {
            let mark = if chosen == Some(slot) { " (decides)" } else { "" };
            let _ = writeln!(text, "NIC {key}{mark}: {}", printable(line));
        }
    }
}

fn interfaces(guest: &Guest, text: &mut String) {
    let Ok(report) = &guest.report else { return };
    for interface in &report.interfaces {
        let mac = interface.mac.map_or("no MAC address".to_owned(), |mac| mac.to_string());
        let addresses: Vec<String> = interface
            .addresses
            .iter()
            .map(|(ip, prefix)| match prefix {
                Some(prefix) => format!("{ip}/{prefix}"),
                None => ip.to_string(),
            })
            .collect();
        let addresses =
            if addresses.is_empty() { "no address".to_owned() } else { addresses.join(", ") };
        let _ = writeln!(text, "interface {}: {mac}, {addresses}", printable(&interface.name));
    }
}
