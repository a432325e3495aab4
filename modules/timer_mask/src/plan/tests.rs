//! The table of cases.

use super::*;
use crate::observe::Live;

fn link(path: &str) -> Link {
    Link { path: path.to_owned(), target: "/lib/systemd/system/x.timer".into() }
}

fn wants() -> Link {
    link("/etc/systemd/system/timers.target.wants/x.timer")
}

/// A packaged, enabled timer on a tree without systemd.
fn enabled() -> Timer {
    Timer {
        name: "x.timer".to_owned(),
        admin: Place::Absent,
        runtime: Place::Absent,
        above: None,
        vendor: Some(("/usr/lib/systemd/system/x.timer".to_owned(), Place::File)),
        installable: true,
        links: vec![wants()],
        record: None,
        service: "x.service".to_owned(),
        live: None,
    }
}

fn live(load: &str, active: &str, service: &str) -> Option<Live> {
    Some(Live {
        load: load.to_owned(),
        active: active.to_owned(),
        service_running: service != "inactive",
        service_active: service.to_owned(),
    })
}

fn record(phase: Phase, active: bool, links: &[Link]) -> Option<Record> {
    Some(Record { phase, active, links: links.to_vec() })
}

fn masked_timer() -> Timer {
    Timer { admin: Place::Mask, links: Vec::new(), ..enabled() }
}

fn planned(state: &str, stop: &str, timer: Timer) -> Result<Vec<String>, String> {
    let params = serde_json::json!({"timers": ["x.timer"], "state": state, "stop_running": stop});
    let params: Params = serde_json::from_value(params).unwrap();
    plan(&params, &Found { timers: vec![timer] })
        .map(|changes| changes.iter().map(ToString::to_string).collect())
        .map_err(|failure| failure.message().to_owned())
}

const REMEMBER: &str = "remember that x.timer is enabled and active";
const REMEMBER_OFFLINE: &str = "remember that x.timer is enabled and inactive";
const REMEMBER_NOTHING: &str = "remember that x.timer is not enabled and inactive";
const DISABLE: &str =
    "disable x.timer: remove link /etc/systemd/system/timers.target.wants/x.timer";
const ENABLE: &str = "enable x.timer: link /etc/systemd/system/timers.target.wants/x.timer";
const UNMASK: &str = "unmask x.timer: remove /etc/systemd/system/x.timer";
const RELOAD: &str = "let systemd read its units again";
const FORGET: &str = "forget how x.timer was before it was masked";

#[test]
fn masking() {
    let table: Vec<(&str, Timer, &str, &[&str])> = vec![
        (
            "g13 a tree without systemd",
            enabled(),
            "wait",
            &[REMEMBER_OFFLINE, DISABLE, "mask x.timer"],
        ),
        (
            "an active timer is stopped before it is masked",
            Timer { live: live("loaded", "active", "inactive"), ..enabled() },
            "wait",
            &[REMEMBER, "stop x.timer", DISABLE, "mask x.timer", RELOAD],
        ),
        ("masked is masked", masked_timer(), "wait", &[]),
        (
            "masked, and systemd knows",
            Timer { live: live("masked", "inactive", "inactive"), ..masked_timer() },
            "stop",
            &[],
        ),
        (
            "masked, and systemd does not know yet",
            Timer { live: live("loaded", "active", "inactive"), ..masked_timer() },
            "wait",
            &["stop x.timer", RELOAD],
        ),
        (
            "masked while it ran, by hand: failed",
            Timer { live: live("masked", "failed", "inactive"), ..masked_timer() },
            "wait",
            &["clear the failed state of x.timer"],
        ),
        (
            "g09 masked with the old link left",
            Timer { admin: Place::Mask, ..enabled() },
            "wait",
            &[REMEMBER_OFFLINE, DISABLE],
        ),
        (
            "g07 not installed",
            Timer { vendor: None, links: Vec::new(), ..enabled() },
            "wait",
            &[REMEMBER_NOTHING, "mask x.timer"],
        ),
        (
            "g11 an empty file is a mask",
            Timer { admin: Place::Empty, ..masked_timer() },
            "wait",
            &[],
        ),
        (
            "a mask that ends with the boot is not enough",
            Timer { runtime: Place::Mask, links: Vec::new(), ..enabled() },
            "wait",
            &[REMEMBER_NOTHING, "mask x.timer"],
        ),
        (
            "g04 the service goes on and is stopped",
            Timer { live: live("loaded", "inactive", "activating"), ..enabled() },
            "stop",
            &[
                REMEMBER_OFFLINE,
                DISABLE,
                "mask x.timer",
                RELOAD,
                "stop x.service, which x.timer started",
            ],
        ),
        (
            "killed after the link was removed: what was remembered stays",
            Timer {
                links: Vec::new(),
                record: record(Phase::Masking, true, &[wants()]),
                ..enabled()
            },
            "wait",
            &["mask x.timer"],
        ),
        (
            "killed between two links: nothing is lost",
            Timer {
                record: record(Phase::Masking, true, &[link("/etc/a.wants/x.timer"), wants()]),
                ..enabled()
            },
            "wait",
            &[DISABLE, "mask x.timer"],
        ),
        (
            "unmasked by hand since: the old memory does not count",
            Timer {
                links: Vec::new(),
                record: record(Phase::Masked, true, &[wants()]),
                ..enabled()
            },
            "wait",
            &[REMEMBER_NOTHING, "mask x.timer"],
        ),
    ];
    for (name, timer, stop, wanted) in table {
        assert_eq!(planned("masked", stop, timer).unwrap(), wanted, "{name}");
    }
}

#[test]
fn masking_that_cannot_be() {
    let own = "failed to mask x.timer: /etc/systemd/system/x.timer is";
    let table: Vec<(&str, Timer, String)> = vec![
        (
            "g06 a file of the administrator",
            Timer { admin: Place::File, ..enabled() },
            format!(
                "{own} a unit file of this machine's own and stands where the mask has to be; \
                 move or remove it first, or disable the timer there"
            ),
        ),
        (
            "a linked unit",
            Timer { admin: Place::Link("/opt/x.timer".into()), ..enabled() },
            format!(
                "{own} a symlink to /opt/x.timer and stands where the mask has to be; disable the \
                 linked unit first"
            ),
        ),
        (
            "a transient unit",
            Timer { above: Some("/run/systemd/transient/x.timer".to_owned()), ..enabled() },
            "failed to mask x.timer: /run/systemd/transient/x.timer outranks a mask in \
             /etc/systemd/system (a transient unit or one set by systemctl); stop or revert it \
             first"
                .to_owned(),
        ),
        (
            "another name",
            Timer {
                vendor: Some(("/lib/systemd/system/x.timer".into(), Place::Link("y.timer".into()))),
                ..enabled()
            },
            "failed to mask x.timer: it is another name of y.timer, which would stay as it is; \
             name y.timer instead"
                .to_owned(),
        ),
    ];
    for (name, timer, wanted) in table {
        assert_eq!(planned("masked", "wait", timer).unwrap_err(), wanted, "{name}");
    }
}

#[test]
fn unmasking() {
    let remembered = || record(Phase::Masked, true, &[wants()]);
    let table: Vec<(&str, Timer, &[&str])> = vec![
        ("not masked", enabled(), &[]),
        ("masked by someone else", masked_timer(), &[UNMASK]),
        (
            "as it was, on a running system",
            Timer {
                record: remembered(),
                live: live("masked", "inactive", "inactive"),
                ..masked_timer()
            },
            &[REMEMBER, ENABLE, UNMASK, RELOAD, "start x.timer", FORGET],
        ),
        (
            "as it was, on a tree",
            Timer { record: remembered(), ..masked_timer() },
            &[REMEMBER, ENABLE, UNMASK, FORGET],
        ),
        (
            "killed before the start",
            Timer {
                record: record(Phase::Unmasking, true, &[wants()]),
                live: live("loaded", "inactive", "inactive"),
                ..enabled()
            },
            &["start x.timer", FORGET],
        ),
        (
            "unmasked by hand and left so: not ours to start",
            Timer {
                record: remembered(),
                links: Vec::new(),
                live: live("loaded", "inactive", "inactive"),
                ..enabled()
            },
            &[],
        ),
        (
            "both masks go",
            Timer { runtime: Place::Mask, ..masked_timer() },
            &[UNMASK, "unmask x.timer: remove /run/systemd/system/x.timer"],
        ),
        ("an empty file goes too", Timer { admin: Place::Empty, ..masked_timer() }, &[UNMASK]),
        (
            "the package was removed since",
            Timer {
                vendor: None,
                record: record(Phase::Masked, true, &[]),
                live: live("masked", "inactive", "inactive"),
                ..masked_timer()
            },
            &["remember that x.timer is not enabled and active", UNMASK, RELOAD, FORGET],
        ),
    ];
    for (name, timer, wanted) in table {
        assert_eq!(planned("unmasked", "wait", timer).unwrap(), wanted, "{name}");
    }
    let vendor = Some(("/usr/lib/systemd/system/x.timer".to_owned(), Place::Mask));
    let error = planned("unmasked", "wait", Timer { vendor, ..masked_timer() }).unwrap_err();
    assert_eq!(
        error,
        "failed to unmask x.timer: its package masks it in /usr/lib/systemd/system/x.timer"
    );
}

#[test]
fn systemd_reads_its_units_once_for_all_timers() {
    let params = serde_json::json!({"timers": ["x.timer", "y.timer"]});
    let params: Params = serde_json::from_value(params).unwrap();
    let x = Timer { live: live("loaded", "active", "inactive"), ..enabled() };
    let y = Timer { name: "y.timer".to_owned(), ..x.clone() };
    let changes = plan(&params, &Found { timers: vec![x, y] }).unwrap();
    assert_eq!(changes.iter().filter(|change| **change == Change::Reload).count(), 1);
    assert_eq!(changes.last(), Some(&Change::Reload));
}
