//! Hosts as their releases ship them.

use std::process::Command;

use harness::{Module, check_apply_again, host, tree};
use serde_json::json;

#[test]
fn g09_every_release_is_masked_and_given_back() {
    let debian = ["apt-daily.timer", "apt-daily-upgrade.timer"];
    let ubuntu = ["apt-daily.timer", "apt-daily-upgrade.timer", "motd-news.timer"];
    for (name, timers) in [
        ("debian-11", &debian[..]),
        ("debian-12", &debian),
        ("debian-13", &debian),
        ("ubuntu-20.04", &ubuntu),
        ("ubuntu-22.04", &ubuntu),
        ("ubuntu-24.04", &ubuntu),
        ("ubuntu-26.04", &ubuntu),
    ] {
        let root = host(name);
        let etc = root.path().join("etc");
        let before = tree(&etc);
        let module = |state: &str| {
            let args = json!({"timers": timers, "state": state, "root": root.path()});
            Module::new(env!("CARGO_BIN_EXE_timer_mask")).args(args)
        };
        let cycle = check_apply_again(&module("masked"), || tree(&etc));
        // each has a link that enables it, whether that leads to /lib or to /usr/lib
        let wants = "etc/systemd/system/timers.target.wants";
        for (index, timer) in timers.iter().enumerate() {
            let timer_state = &cycle.real.ok()["timers"][index];
            assert_eq!(timer_state["state"], "masked", "{name}: {timer}");
            assert_eq!(timer_state["service"], timer.replace(".timer", ".service"));
            assert!(!root.path().join(wants).join(timer).is_symlink(), "{name}: {timer}");
            let asked = Command::new("systemctl")
                .arg(format!("--root={}", root.path().display()))
                .args(["is-enabled", timer])
                .output();
            let said = asked.map(|output| output.stdout).unwrap_or_default();
            assert_eq!(String::from_utf8_lossy(&said).trim(), "masked", "{name}: {timer}");
        }
        check_apply_again(&module("unmasked"), || tree(&etc));
        assert_eq!(tree(&etc), before, "{name}");
    }
}
