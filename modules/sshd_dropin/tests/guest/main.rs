//! On a real Debian with a real sshd: each way in which a drop-in has no effect, and each way in
//! which it could do harm.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod lab;

use pve_lab::guests::Suite;
use serde_json::{Value, json};

use lab::{FOLDER, Lab, MAIN};

fn key_only(name: &str) -> Value {
    json!({
        "name": name,
        "settings": {"PasswordAuthentication": false, "KbdInteractiveAuthentication": "no"},
    })
}

#[test]
fn on_trixie() {
    all(Suite::Trixie);
}

#[test]
fn on_bookworm() {
    all(Suite::Bookworm);
}

fn all(suite: Suite) {
    let lab = Lab::boot(suite);
    places_and_reloads(&lab);
    g20_g21_a_name_that_comes_late(&lab);
    g22_the_main_file_above_the_include(&lab);
    g24_an_include_for_some_users_only(&lab);
    other_ways_to_have_no_effect(&lab);
    g28_g33_broken_as_a_whole(&lab, suite);
    g29_no_folder_and_no_host_key(&lab);
    g32_g34_old_names_and_adding(&lab);
    g35_socket_activation(&lab);
    g39_users_without_a_key(&lab);
    interrupted_and_spoiled(&lab);
    a_daemon_that_does_not_come_back(&lab);
    in_a_chroot(&lab);
}

fn places_and_reloads(lab: &Lab) {
    lab.reset();
    let pid = lab.sh("systemctl show -P MainPID ssh.service");
    let real = lab.cycle(&key_only("10-key-only.conf"));
    assert_eq!(
        real["plan"],
        json!([format!("create {FOLDER}/10-key-only.conf"), "reload ssh.service"])
    );
    assert_eq!(real["effective"]["passwordauthentication"], json!(["no"]));
    assert!(real["diff"].to_string().contains("PasswordAuthentication no"), "{real}");
    assert_eq!(lab.effective("passwordauthentication"), "passwordauthentication no");
    assert_eq!(lab.sh("systemctl show -P MainPID ssh.service"), pid, "g36 one reload, no restart");
    assert_eq!(lab.sh("journalctl -b -u ssh.service | grep -c 'Received SIGHUP'"), "1");

    // a block for one user, changed text, a copy of the old one
    let args = json!({
        "name": "10-key-only.conf", "backup": true,
        "settings": {"PasswordAuthentication": false},
        "match": [{"criteria": "User git", "settings": {"AllowTcpForwarding": "no"}}],
    });
    let real = lab.cycle(&args);
    let backup = real["backup_file"].as_str().unwrap();
    assert!(lab.sh(&format!("cat '{backup}'")).contains("KbdInteractiveAuthentication no"));
    assert_eq!(
        lab.sh("/usr/sbin/sshd -T -C user=git,host=h,addr=192.0.2.9 | grep allowtcp"),
        "allowtcpforwarding no"
    );
    assert_eq!(lab.effective("allowtcpforwarding"), "allowtcpforwarding yes");

    lab.cycle(&json!({"name": "10-key-only.conf", "state": "absent"}));
    assert_eq!(lab.sh(&format!("ls {FOLDER}/*.conf 2>/dev/null | grep key-only")), "");
}

fn g20_g21_a_name_that_comes_late(lab: &Lab) {
    lab.reset();
    lab.drop_in("50-cloud-init.conf", "# cloud\nPasswordAuthentication yes\n");
    let winner =
        format!("{FOLDER}/50-cloud-init.conf:2 comes first with 'PasswordAuthentication yes'");
    for late in ["99-hard.conf", "50-open.conf"] {
        let message = lab.refused(&key_only(late));
        assert!(message.contains(&winner), "{message}");
    }
    lab.cycle(&key_only("10-hard.conf"));
}

fn g22_the_main_file_above_the_include(lab: &Lab) {
    lab.reset();
    lab.main("PasswordAuthentication yes\nInclude /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\n");
    let message = lab.refused(&key_only("10-x.conf"));
    assert!(message.contains(&format!("{MAIN}:1 comes first")), "{message}");
}

fn g24_an_include_for_some_users_only(lab: &Lab) {
    lab.reset();
    lab.main("UsePAM yes\nMatch User bob\n  X11Forwarding no\n  Include sshd_config.d/*.conf\n");
    let message = lab.refused(&key_only("10-x.conf"));
    let wanted = format!(
        "{FOLDER}/10-x.conf would hold for some connections only: the Include at {MAIN}:4 stands \
         in 'Match User bob' of {MAIN}:2; move it above"
    );
    assert_eq!(message, wanted);
}

fn other_ways_to_have_no_effect(lab: &Lab) {
    lab.reset();
    lab.main("UsePAM yes\n");
    let message = lab.refused(&json!({"name": "10-x.conf", "content": "garbage here\n"}));
    assert!(message.ends_with("no Include in /etc/ssh/sshd_config covers it"), "{message}");

    lab.main("UsePAM yes\nInclude /etc/ssh/sshd_config.d/*.conf\nMatch User *\n  PasswordAuthentication yes\n");
    let message = lab.refused(&key_only("10-x.conf"));
    assert!(message.contains("in 'Match User *'"), "{message}");

    // what stands in a Match overrides what does not, also when it comes later and holds for all
    for all in [
        "Match all\nPasswordAuthentication yes\n",
        "Match User x\nMatch All\nPasswordAuthentication yes\n",
    ] {
        lab.main(&format!("UsePAM yes\nInclude /etc/ssh/sshd_config.d/*.conf\n{all}"));
        let message = lab.refused(&key_only("10-x.conf"));
        assert!(message.contains("'PasswordAuthentication yes'"), "{message}");
    }

    lab.main(
        "UsePAM yes\nInclude /etc/ssh/sshd_config.d/*.conf\nMatch User bob\n  PasswordAuthentication yes\n",
    );
    let mut args = key_only("10-x.conf");
    args["verify_for"] = json!(["user=bob,host=h,addr=192.0.2.3"]);
    let message = lab.refused(&args);
    assert!(message.contains("for user=bob,host=h,addr=192.0.2.3: "), "{message}");
    let real = lab.cycle(&key_only("10-x.conf"));
    assert!(real["warnings"][0].as_str().unwrap().contains("does not hold for 'Match User bob'"));

    // other files of any kind in the folder are no obstacle
    lab.reset();
    lab.sh(&format!(
        "mkdir {FOLDER}/d.conf; echo bad > {FOLDER}/x.txt; echo bad > {FOLDER}/.h.conf"
    ));
    lab.cycle(&key_only("10-x.conf"));
}

fn g28_g33_broken_as_a_whole(lab: &Lab, suite: Suite) {
    lab.reset();
    let bad = json!({"name": "10-x.conf", "settings": {"PassWordAuthent": "no"}});
    let message = lab.refused(&bad);
    let wanted = format!(
        "the configuration of sshd would be broken with {FOLDER}/10-x.conf: {FOLDER}/10-x.conf: \
         line 2: Bad configuration option: PassWordAuthent"
    );
    assert!(message.starts_with(&wanted), "{message}");
    let message = lab.refused(&json!({"name": "10-x.conf", "settings": {"Port": "many"}}));
    assert!(message.contains("line 2: Badly formatted port number"), "{message}");

    if suite == Suite::Bookworm {
        let sftp = json!({"name": "10-x.conf", "settings": {"Subsystem": "sftp internal-sftp"}});
        let message = lab.refused(&sftp);
        assert!(message.contains("Subsystem 'sftp' already defined"), "g28 {message}");
        let newer = json!({"name": "10-x.conf", "settings": {"PerSourcePenalties": "yes"}});
        assert!(lab.refused(&newer).contains("PerSourcePenalties"), "g33");
    }
    let old = json!({"name": "10-x.conf", "settings": {"UsePrivilegeSeparation": "yes"}});
    let real = lab.cycle(&old);
    assert!(
        real["warnings"].to_string().contains("Deprecated option UsePrivilegeSeparation"),
        "g33 {real}"
    );

    // broken before, and not by us
    lab.reset();
    lab.drop_in("20-other.conf", "Nonsense yes\n");
    let message = lab.refused(&key_only("10-x.conf"));
    let wanted =
        format!("the configuration of sshd was broken before, without {FOLDER}/10-x.conf: ");
    assert!(message.starts_with(&wanted), "{message}");
    assert!(message.contains(&format!("{FOLDER}/20-other.conf: line 1:")), "{message}");
    lab.sh(&format!("rm {FOLDER}/20-other.conf; ln -s /nowhere {FOLDER}/20-dangling.conf"));
    assert!(lab.refused(&key_only("10-x.conf")).contains("20-dangling.conf"));

    // broken before, by our own file: it is mended
    lab.reset();
    lab.drop_in("10-x.conf", "Nonsense yes\n");
    lab.cycle(&key_only("10-x.conf"));
}

fn g29_no_folder_and_no_host_key(lab: &Lab) {
    lab.reset();
    lab.sh("systemctl stop ssh.service; rm -rf /run/sshd; rm /etc/ssh/ssh_host_*");
    let args = key_only("10-x.conf");
    let check = lab.module(&args, true);
    assert_eq!(check["changed"], true, "{check}");
    assert_eq!(lab.sh("ls -d /run/sshd 2>/dev/null; ls -A /run | grep ferrite"), "");
    let real = lab.module(&args, false);
    assert_eq!(real["changed"], true, "{real}");
    assert_eq!(real["plan"], json!([format!("create {FOLDER}/10-x.conf")]));
    assert_eq!(real["notes"], json!(["sshd is not running; its next start reads the file"]));
    assert!(real["warnings"].to_string().contains("sshd has no host key here"), "{real}");
    assert_eq!(lab.module(&args, false)["changed"], false);
    assert_eq!(lab.sh("ls -d /run/sshd 2>/dev/null"), "");
}

fn g32_g34_old_names_and_adding(lab: &Lab) {
    lab.reset();
    lab.drop_in("05-a.conf", "ChallengeResponseAuthentication yes\n");
    let message = lab.refused(&key_only("10-x.conf"));
    assert!(message.contains(&format!("{FOLDER}/05-a.conf:1 comes first")), "g32 {message}");

    lab.reset();
    lab.sh(&format!("echo 'Port 22' >> {MAIN}"));
    let message = lab.refused(&json!({"name": "10-x.conf", "settings": {"Port": 2222}}));
    assert!(message.contains("adds 'Port 22' (in force: 2222, 22)"), "g34 {message}");
    let both = json!({"name": "10-x.conf", "settings": {"Port": [22, 2222]}});
    let real = lab.cycle(&both);
    assert_eq!(real["effective"]["port"], json!(["22", "2222", "22"]));
    assert!(lab.sh("ss -ltn | grep -c ':2222 '") != "0");
}

fn g35_socket_activation(lab: &Lab) {
    lab.reset();
    lab.sh("systemctl disable --now ssh.service; systemctl enable --now ssh.socket");
    let idle = lab.cycle_idle(&json!({"name": "10-x.conf", "settings": {"MaxAuthTries": 4}}));
    assert_eq!(idle["plan"], json!([format!("create {FOLDER}/10-x.conf")]));
    assert_eq!(idle["socket"], "ssh.socket");

    assert!(lab.0.log_in("true").success());
    assert_eq!(lab.sh("systemctl is-active ssh.service"), "active", "the socket started it");
    let args = json!({"name": "10-x.conf", "settings": {"Port": 2222, "MaxAuthTries": 3}});
    let real = lab.module(&args, false);
    assert_eq!(
        real["plan"],
        json!([
            format!("change {FOLDER}/10-x.conf"),
            "restart ssh.service, which ssh.socket started"
        ]),
        "{real}"
    );
    assert_eq!(real["socket"], "ssh.socket");
    assert!(real["notes"][0].as_str().unwrap().contains("systemctl restart ssh.socket"), "{real}");
    assert_eq!(lab.sh("systemctl is-active ssh.socket"), "active");
    assert_eq!(lab.sh("systemctl --failed --no-legend --plain"), "");
    assert!(lab.0.log_in("true").success());
    assert_eq!(lab.module(&args, false)["changed"], false);
    // enabling it brings the alias back, and systemd may lose sight of a daemon that runs meanwhile
    lab.sh("systemctl disable --now ssh.socket; systemctl stop ssh.service; systemctl enable ssh.service");
    lab.reset();
}

fn g39_users_without_a_key(lab: &Lab) {
    lab.reset();
    lab.sh("useradd -m keyless");
    let mut args = key_only("10-x.conf");
    args["require_keys_for"] = json!(["debian", "keyless", "nosuch"]);
    let message = lab.refused(&args);
    let wanted = "logins with a password would be switched off, but user 'keyless' has no key in \
                  /home/keyless/.ssh/authorized_keys or /home/keyless/.ssh/authorized_keys2; there \
                  is no user 'nosuch'; see option require_keys_for";
    assert_eq!(message, wanted);
    // a key that sshd does not take is none
    lab.sh("mkdir -p ~keyless/.ssh; cp ~/.ssh/authorized_keys ~keyless/.ssh/; chown -R keyless ~keyless/.ssh");
    args["require_keys_for"] = json!("keyless");
    for (spoil, mend) in [
        (
            "chown debian ~keyless/.ssh/authorized_keys",
            "chown keyless ~keyless/.ssh/authorized_keys",
        ),
        ("chmod 664 ~keyless/.ssh/authorized_keys", "chmod 600 ~keyless/.ssh/authorized_keys"),
        ("chmod 777 ~keyless", "chmod 755 ~keyless"),
    ] {
        lab.sh(spoil);
        let message = lab.refused(&args);
        assert!(message.contains("(StrictModes)"), "{spoil}: {message}");
        lab.sh(mend);
    }
    for (keyword, value) in [("DenyUsers", "keyless"), ("AllowUsers", "root")] {
        let mut shut = args.clone();
        shut["settings"][keyword] = json!(value);
        let message = lab.refused(&shut);
        assert!(message.contains(&format!("{keyword} does not let 'keyless' in")), "{message}");
    }
    args["require_keys_for"] = json!(["keyless", "debian"]);
    lab.cycle(&args);
}

fn interrupted_and_spoiled(lab: &Lab) {
    lab.reset();
    let args = key_only("10-x.conf");
    lab.cycle(&args);
    // killed between placing the file and the reload
    lab.sh("mkdir -p /var/lib/ferrite/sshd_dropin; touch /var/lib/ferrite/sshd_dropin/10-x.conf.pending");
    assert_eq!(lab.cycle(&args)["plan"], json!(["reload ssh.service"]));
    for spoil in [
        "echo 'PasswordAuthentication yes' > /etc/ssh/sshd_config.d/10-x.conf",
        "rm /etc/ssh/sshd_config.d/10-x.conf",
        "truncate -s 0 /etc/ssh/sshd_config.d/10-x.conf",
        "ln -sf /nowhere /etc/ssh/sshd_config.d/10-x.conf",
    ] {
        lab.sh(spoil);
        lab.cycle(&args);
    }
    // a file that somebody else can write is not ours yet
    for open in ["chown daemon", "chmod 664"] {
        lab.sh(&format!("{open} {FOLDER}/10-x.conf"));
        lab.cycle(&args);
        assert_eq!(lab.sh(&format!("stat -c '%U %a' {FOLDER}/10-x.conf")), "root 644");
    }
    // a pipe would hold sshd up, and us
    lab.sh(&format!("mkfifo {FOLDER}/20-pipe.conf"));
    let pipe = lab.refused(&json!({"name": "10-x.conf", "settings": {"MaxAuthTries": 3}}));
    assert!(pipe.contains("20-pipe.conf, which /etc/ssh/sshd_config:"), "{pipe}");
    lab.sh(&format!("rm {FOLDER}/20-pipe.conf"));
    // what cannot be written is told as it is
    lab.sh(&format!("chattr +i {FOLDER}/10-x.conf"));
    let stuck = lab.module(&json!({"name": "10-x.conf", "settings": {"MaxAuthTries": 3}}), false);
    let stuck = stuck["msg"].as_str().unwrap();
    assert!(
        stuck.contains("failed to replace") && stuck.contains("is as it was before"),
        "{stuck}"
    );
    lab.sh(&format!("chattr -i {FOLDER}/10-x.conf"));
    // a failure puts back a file with all that belongs to it
    lab.sh(&format!("chmod 600 {FOLDER}/10-x.conf; chown daemon {FOLDER}/10-x.conf"));
    lab.refused(&json!({"name": "10-x.conf", "settings": {"Nonsense": 1}}));
}

fn a_daemon_that_does_not_come_back(lab: &Lab) {
    lab.reset();
    // the test accepts an address that this machine does not have; the daemon then dies
    let args = json!({"name": "10-x.conf", "settings": {"ListenAddress": "203.0.113.7"}});
    let before = lab.sh(&format!("ls -A {FOLDER} | sort"));
    let real = lab.module(&args, false);
    assert_eq!(real["failed"], true, "{real}");
    let message = real["msg"].as_str().unwrap();
    assert!(
        message.contains("the file is as it was before, and sshd runs with it again"),
        "{message}"
    );
    assert_eq!(lab.sh(&format!("ls -A {FOLDER} | sort")), before);
    assert_eq!(lab.sh("systemctl is-active ssh.service"), "active");
    assert!(lab.0.log_in("true").success());
    assert_eq!(lab.sh("ls -A /var/lib/ferrite/sshd_dropin"), "");
}

fn in_a_chroot(lab: &Lab) {
    lab.reset();
    // the bare file system, as an unpacked image: nothing in /dev, /proc and /run
    lab.sh("mkdir -p /srv/tree && mount --bind / /srv/tree && rm -f /etc/ssh/ssh_host_*");
    let before = lab.sh("ls -A /srv/tree/run /srv/tree/dev");
    let mut args = key_only("10-x.conf");
    args["root"] = "/srv/tree".into();
    let check = lab.module(&args, true);
    assert_eq!(check["plan"], json!([format!("create {FOLDER}/10-x.conf")]), "{check}");
    let real = lab.module(&args, false);
    assert_eq!(real["changed"], true, "{real}");
    assert_eq!(real["notes"], json!(["no systemd is running here; no sshd was reloaded"]));
    assert_eq!(real["effective"]["passwordauthentication"], json!(["no"]));
    assert_eq!(lab.module(&args, false)["changed"], false);
    args["settings"] = json!({"Nonsense": "yes"});
    let message = lab.module(&args, false)["msg"].to_string();
    assert!(message.contains("10-x.conf: line 2: Bad configuration option: Nonsense"), "{message}");
    assert_eq!(lab.sh("ls -A /srv/tree/run /srv/tree/dev"), before);
    lab.sh("umount /srv/tree");
}
