//! How fast a fleet is read, beside a plain client on as many connections and, where it is
//! installed, the plugin of community.proxmox. All in one run against one server in this process, so
//! that the ratios hold on any machine: `cargo bench -p pve_inventory`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot run has nothing to tell"
)]

mod measure;
mod yardstick;

use std::time::Duration;

use pve_lab::{Fleet, Lab, LabConfig};

use measure::{Measured, measured};

/// What an ordinary call takes, and what an agent takes beyond that.
const CALL: Duration = Duration::from_millis(15);
const AGENT: Duration = Duration::from_millis(45);
/// Places to call from, as many for ordinary calls as for agents.
const PLACES: usize = 64;

fn lab(fleet: Fleet, places: Option<usize>, delays: f64) -> Lab {
    let fleet = Some(Fleet { agent_latency: AGENT, ..fleet });
    Lab::start(LabConfig { fleet, latency: CALL, places, delays, ..LabConfig::default() })
}

fn main() {
    if measure::wrapped() {
        return;
    }
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only == name);
    println!("| fleet | client | wall s | CPU s | memory MB | calls |");
    println!("| --- | --- | --- | --- | --- | --- |");
    if wanted("thousand") {
        thousand();
    }
    if wanted("places") {
        places();
    }
    if wanted("silent") {
        silent();
    }
    if wanted("large") {
        large();
    }
}

fn row(fleet: &str, client: &str, run: &Measured, calls: usize) {
    println!(
        "| {fleet} | {client} | {:.2} | {:.2} | {:.0} | {calls} |",
        run.wall.as_secs_f64(),
        run.cpu.as_secs_f64(),
        run.memory_mb
    );
}

/// Our inventory, the best of some runs, and how many calls it made.
fn ours(lab: &Lab, runs: usize) -> (Measured, usize) {
    let mut best: Option<(Measured, usize)> = None;
    for _ in 0..runs {
        lab.clear_requests();
        let run = measured(measure::inventory(lab));
        let calls = lab.requests().len();
        assert!(run.stdout.contains("\"_meta\""), "no inventory: {}", run.stdout);
        if best.as_ref().is_none_or(|(best, _)| run.wall < best.wall) {
            best = Some((run, calls));
        }
    }
    best.expect("at least one run")
}

fn plain(lab: &Lab, runs: usize) -> (Measured, usize) {
    lab.clear_requests();
    let best = (0..runs).map(|_| measured(measure::yardstick(lab, PLACES))).min_by_key(|r| r.wall);
    (best.expect("at least one run"), lab.requests().len() / runs)
}

fn thousand() {
    let name = "1000 guests, 3 nodes";
    // the plugin asks for the snapshots of containers, which the lab does not have
    let lab = lab(Fleet { guests: 1000, containers: 0, ..Fleet::default() }, None, 0.0);
    let (yardstick, calls) = plain(&lab, 3);
    row(name, "yardstick", &yardstick, calls);
    let (run, calls) = ours(&lab, 3);
    row(name, "pve_inventory", &run, calls);
    println!("\nto the yardstick: {:.2} (goal 1.25)\n", ratio(&run, &yardstick));
    for (words, forks) in [("its default", None), ("32 workers", Some(32))] {
        match measure::plugin(&lab, forks) {
            Some(command) => {
                let plugin = measured(command);
                row(name, &format!("community.proxmox, {words}"), &plugin, 0);
                println!("\nfaster by: {:.1}\n", ratio(&plugin, &run));
            }
            None => println!("community.proxmox, {words}: not to be had\n"),
        }
    }
}

fn ratio(one: &Measured, other: &Measured) -> f64 {
    one.wall.as_secs_f64() / other.wall.as_secs_f64()
}

/// With three places at each node no client is faster than the nodes.
fn places() {
    let lab = lab(Fleet { guests: 1000, ..Fleet::default() }, Some(3), 0.0);
    let (run, calls) = ours(&lab, 1);
    row("the same, 3 places at each node", "pve_inventory", &run, calls);
    let agents = lab.requests().iter().filter(|r| measure::is_agent(&r.path)).count();
    let (agents, others) =
        (u32::try_from(agents).unwrap_or(0), u32::try_from(calls - agents).unwrap_or(0));
    let best = (CALL * others + (CALL + AGENT) * agents) / 9;
    println!(
        "\nto the best possible ({:.2} s): {:.2} (goal 1.15)\n",
        best.as_secs_f64(),
        run.wall.as_secs_f64() / best.as_secs_f64()
    );
}

fn silent() {
    let lab = lab(Fleet { guests: 1000, silent: 5, ..Fleet::default() }, None, 1.0);
    let (run, calls) = ours(&lab, 1);
    row("the same, 5 % silent for 3 s", "pve_inventory", &run, calls);
    println!();
}

fn large() {
    let lab = lab(Fleet { guests: 10_000, nodes: 50, ..Fleet::default() }, None, 0.0);
    let (run, calls) = ours(&lab, 1);
    row("10,000 guests, 50 nodes", "pve_inventory", &run, calls);
    println!();
}
