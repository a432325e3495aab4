//! The table of cases: what is asked, what is there, what is done about it.

mod life;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::plan;
use crate::change::{Change, Edit};
use crate::found::{Found, Guest};
use crate::tests::{guest, params};

const MAC: &str = "BC:24:11:01:02:03";

fn found(guest: Guest) -> Found {
    Found { guest: Some(guest), ..Found::default() }
}

fn lines(args: &Value, found: &Found) -> Result<Vec<String>, String> {
    plan(&params(args), found)
        .map(|plan| plan.iter().map(ToString::to_string).collect())
        .map_err(|failure| failure.message().to_owned())
}

/// What the one edit of the plan writes.
fn edit(args: &Value, config: &Value) -> Edit {
    match plan(&params(args), &found(guest(config))).unwrap().as_slice() {
        [Change::Set(edit)] => edit.clone(),
        other => panic!("{other:?}"),
    }
}

fn set(args: &Value, config: &Value) -> BTreeMap<String, String> {
    let edit = edit(args, config);
    assert!(edit.delete.is_empty(), "{edit:?}");
    assert!(edit.digest.is_some());
    edit.set
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn what_is_so_already_is_not_written() {
    for (case, args, config) in [
        (
            "b01_an_identical_update",
            json!({"memory": 2048, "cores": 2, "name": "web", "onboot": true}),
            json!({"memory": "2048", "cores": "2", "onboot": "1"}),
        ),
        (
            "b04_another_order",
            json!({"net": {"net0": format!("bridge=vmbr0,firewall=1,tag=10,model=virtio,macaddr={}", MAC.to_lowercase())}}),
            json!({"net0": format!("virtio={MAC},bridge=vmbr0,tag=10,firewall=1")}),
        ),
        (
            "b07_the_cloudinit_drive_is_there",
            json!({"ide": {"ide2": "local-lvm:cloudinit"}}),
            json!({"ide2": "local-lvm:vm-100-cloudinit,media=cdrom,size=4M"}),
        ),
        (
            "b08_an_empty_cd_drive",
            json!({"ide": {"ide2": "none,media=cdrom"}}),
            json!({"ide2": "none,media=cdrom"}),
        ),
        (
            "b08_an_iso_with_a_size",
            json!({"ide": {"ide2": "local:iso/x.iso"}}),
            json!({"ide2": "local:iso/x.iso,media=cdrom,size=350K"}),
        ),
        (
            "b32_an_address_in_another_order",
            json!({"ipconfig": {"ipconfig0": {"ip": "10.1.248.5/16", "gw": "10.1.1.1"}}}),
            json!({"ipconfig0": "gw=10.1.1.1,ip=10.1.248.5/16", "ide2": "local:100/vm-100-cloudinit.qcow2,media=cdrom"}),
        ),
        (
            "b61_a_disk_in_its_creation_form",
            json!({"scsi": {"scsi0": "local-lvm:8,discard=on"}}),
            json!({"scsi0": "local-lvm:vm-100-disk-0,discard=on,size=8G"}),
        ),
        (
            "b06_import_from_a_disk_that_is_there",
            json!({"image": "local:import/x.qcow2", "scsi": {"scsi0": {"storage": "local", "size": "8192M", "format": "qcow2"}}}),
            json!({"scsi0": "local:100/vm-100-disk-0.qcow2,size=8G"}),
        ),
        (
            "b75_what_the_server_fills_in",
            json!({"vga": "serial0", "boot": "order=scsi0", "machine": "q35"}),
            json!({"vga": "serial0", "boot": "order=scsi0", "machine": "q35",
                   "smbios1": "uuid=31b21e6c-a023-494b-8b41-74283c185228",
                   "vmgenid": "813d293f-c2db-41a7-bc9a-e4402280947a",
                   "meta": "creation-qemu=9.0.2,ctime=1700000000"}),
        ),
        (
            "defaults_that_are_not_set",
            json!({"onboot": false, "cores": 1, "sockets": 1, "bios": "seabios", "agent": false,
                   "protection": false, "tags": [], "description": "", "numa_enabled": false}),
            json!({"tags": " "}),
        ),
        (
            "tags_and_notes",
            json!({"tags": ["web", "Prod", "web"], "description": "a\nb\n"}),
            json!({"tags": "prod;web", "description": "a\nb"}),
        ),
        (
            "nothing_to_take_away",
            json!({"delete": ["vga", "net7"], "net": {"net1": null}}),
            json!({}),
        ),
        (
            "b05_no_address_and_no_model_are_no_other_ones",
            json!({"net": {"net0": {"macaddr": null, "model": null}}}),
            json!({"net0": format!("e1000={MAC},bridge=vmbr0")}),
        ),
        (
            "b06_the_firmwares_disk_in_its_creation_form",
            json!({"efidisk0": "local:1,efitype=4m,pre-enrolled-keys=1",
                   "tpmstate0": {"storage": "local", "size": "4M", "version": "v2.0"}}),
            json!({"efidisk0": "local:100/vm-100-disk-1.raw,efitype=4m,pre-enrolled-keys=1,size=528K",
                   "tpmstate0": "local:100/vm-100-disk-2.raw,size=3M,version=v2.0"}),
        ),
        (
            "b75_the_identity_that_the_server_made",
            json!({"vmgenid": "1"}),
            json!({"vmgenid": "813d293f-c2db-41a7-bc9a-e4402280947a"}),
        ),
        (
            "update_false_leaves_all_as_it_is",
            json!({"update": false, "memory": 4096}),
            json!({"memory": "2048"}),
        ),
    ] {
        assert_eq!(lines(&args, &found(guest(&config))), Ok(vec![]), "{case}");
    }
}

#[test]
fn only_differences_are_written() {
    let disk = "local-lvm:vm-100-disk-0,size=10G";
    for (case, args, config, written) in [
        (
            "b05_one_option_of_an_interface",
            json!({"net": {"net0": {"mtu": 1450}}}),
            json!({"net0": format!("virtio={MAC},bridge=vmbr0,firewall=1,tag=10")}),
            pairs(&[("net0", "virtio=BC:24:11:01:02:03,bridge=vmbr0,firewall=1,mtu=1450,tag=10")]),
        ),
        (
            "b05_null_takes_an_option_away",
            json!({"net": {"net0": {"tag": null, "bridge": "vmbr1"}}}),
            json!({"net0": format!("virtio={MAC},bridge=vmbr0,firewall=1,tag=10")}),
            pairs(&[("net0", "virtio=BC:24:11:01:02:03,bridge=vmbr1,firewall=1")]),
        ),
        (
            "another_model_keeps_the_mac",
            json!({"net": {"net0": {"model": "e1000"}}}),
            json!({"net0": format!("virtio={MAC},bridge=vmbr0")}),
            pairs(&[("net0", "e1000=BC:24:11:01:02:03,bridge=vmbr0")]),
        ),
        (
            "b06_a_flag_of_a_disk_keeps_the_volume",
            json!({"scsi": {"scsi0": {"storage": "local-lvm", "size": "10G", "discard": true}}}),
            json!({"scsi0": disk}),
            pairs(&[("scsi0", "local-lvm:vm-100-disk-0,discard=on,size=10G")]),
        ),
        (
            "an_option_we_do_not_know_stays",
            json!({"scsi": {"scsi0": {"ssd": true}}}),
            json!({"scsi0": "local-lvm:vm-100-disk-0,newer=x,size=10G"}),
            pairs(&[("scsi0", "local-lvm:vm-100-disk-0,newer=x,size=10G,ssd=1")]),
        ),
        (
            "b29_no_upgrade_at_first_boot",
            json!({"ciupgrade": false}),
            json!({}),
            pairs(&[("ciupgrade", "0")]),
        ),
        (
            "an_iso_is_put_in",
            json!({"ide": {"ide2": "local:iso/x.iso"}}),
            json!({"ide2": "none,media=cdrom"}),
            pairs(&[("ide2", "local:iso/x.iso,media=cdrom")]),
        ),
        (
            "an_address_is_wanted_as_a_whole",
            json!({"ipconfig": {"ipconfig0": "ip=dhcp"}}),
            json!({"ipconfig0": "ip=10.0.0.5/24,gw=10.0.0.1", "ide2": "local:100/vm-100-cloudinit.qcow2,media=cdrom"}),
            pairs(&[("ipconfig0", "ip=dhcp")]),
        ),
        (
            "several_at_once",
            json!({"cores": 4, "memory": 4096, "tags": ["db"]}),
            json!({"cores": "2", "memory": "4096", "tags": "web"}),
            pairs(&[("cores", "4"), ("tags", "db")]),
        ),
        (
            "a_second_interface",
            json!({"net": {"net1": {"bridge": "vmbr1"}}}),
            json!({"net0": format!("virtio={MAC},bridge=vmbr0")}),
            pairs(&[("net1", "virtio,bridge=vmbr1")]),
        ),
    ] {
        assert_eq!(set(&args, &config), written, "{case}");
    }
}

#[test]
fn b07_a_cloudinit_drive_is_added_where_there_is_none() {
    let edit = edit(&json!({"ide": {"ide2": "local-lvm:cloudinit"}}), &json!({}));
    assert_eq!(edit.set, pairs(&[("ide2", "local-lvm:cloudinit")]));
    assert!(edit.allocates);
}

#[test]
fn taking_away() {
    let edit = edit(
        &json!({"delete": ["vga"], "net": {"net1": null}, "tags": [], "description": ""}),
        &json!({"vga": "std", "net1": "virtio=BC:24:11:00:00:09", "tags": "a", "description": "x"}),
    );
    assert!(edit.set.is_empty());
    assert_eq!(edit.delete.iter().collect::<Vec<_>>(), ["description", "net1", "tags", "vga"]);
}

#[test]
fn what_would_lose_data_is_refused() {
    let disk = json!({"scsi0": "local-lvm:vm-100-disk-0,size=10G", "ide2": "none,media=cdrom",
                      "protection": "1"});
    for (args, text) in [
        (
            json!({"scsi": {"scsi0": null}}),
            "scsi0 cannot be taken out of vm web (100), which is protected",
        ),
        (
            json!({"scsi": {"scsi0": {"size": "8G"}}}),
            "failed to plan vm web (100): scsi0: the disk has 10G and cannot be shrunk to 8G",
        ),
        (
            json!({"scsi": {"scsi0": {"storage": "local", "size": "10G"}}}),
            "scsi0: the disk is on storage local-lvm, not on local",
        ),
        (
            json!({"scsi": {"scsi0": "local-lvm:vm-100-disk-7"}}),
            "scsi0: there is another drive: local-lvm:vm-100-disk-0,size=10G",
        ),
        (json!({"scsi": {"scsi0": "none,media=cdrom"}}), "scsi0: there is another drive"),
        (
            json!({"ide": {"ide2": {"storage": "local", "size": "8G"}}}),
            "ide2: there is another kind of drive: none,media=cdrom",
        ),
        (
            json!({"scsi": {"scsi1": {"discard": true}}}),
            "scsi1: there is no such drive yet: give a storage and a size to make it",
        ),
        (
            json!({"scsi": {"scsi1": {"storage": "local"}}}),
            "scsi1: a new disk needs a size, or an image to be made from",
        ),
    ] {
        let error = lines(&args, &found(guest(&disk))).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_disk_is_grown_to_its_absolute_size() {
    let there = found(guest(&json!({"scsi0": "local-lvm:vm-100-disk-0,size=10G"})));
    assert_eq!(
        lines(&json!({"scsi": {"scsi0": {"size": "20G", "ssd": true}}}), &there).unwrap(),
        [
            "set scsi0 to \"local-lvm:vm-100-disk-0,size=10G,ssd=1\" (was \
             \"local-lvm:vm-100-disk-0,size=10G\") on vm web (100)",
            "grow scsi0 of vm web (100) from 10G to 20G",
        ]
    );
}

#[test]
fn b54_a_disk_that_a_machine_gets_at_its_next_start_is_not_grown_before() {
    let mut running = guest(&json!({"scsi0": "local:100/a.raw,size=1G"}));
    running.running = true;
    running.config.insert("ide0".into(), "local:100/b.raw,size=1G".into());
    let image = json!({"storage": "local", "size": "4G", "import_from": "local:import/x.qcow2"});
    let late = "at its next start only";
    for (hotplug, args, text) in [
        (None, json!({"ide": {"ide0": {"size": "2G"}}}), late),
        (None, json!({"ide": {"ide0": {"size": "1G"}}}), ""),
        (None, json!({"ide": {"ide1": image}}), late),
        (None, json!({"ide": {"ide1": {"storage": "local", "size": "4G"}}}), ""),
        (None, json!({"scsi": {"scsi1": image}}), ""),
        (Some("network,usb"), json!({"scsi": {"scsi1": image}}), late),
        (Some("0"), json!({"virtio": {"virtio0": image}}), late),
        (Some("1"), json!({"virtio": {"virtio0": image}}), ""),
        (None, json!({"scsi": {"scsi0": {"size": "2G"}}}), ""),
    ] {
        let mut guest = running.clone();
        guest.running_config.extend(hotplug.map(|value| ("hotplug".into(), value.into())));
        let said = lines(&args, &found(guest)).err().unwrap_or_default();
        assert!(said.contains(text) && said.is_empty() == text.is_empty(), "{args}: {said}");
    }
}

#[test]
fn the_boot_order_follows_the_devices_it_names() {
    let args = json!({"boot": "order=scsi1;scsi0", "scsi": {"scsi1": "local:1"}});
    let there = found(guest(&json!({"scsi0": "local:100/a.raw,size=1G", "boot": "order=scsi0"})));
    assert_eq!(
        lines(&args, &there).unwrap(),
        [
            "set scsi1 to \"local:1\" on vm web (100)",
            "set boot to \"order=scsi1;scsi0\" (was \"order=scsi0\") on vm web (100)",
        ]
    );
}

#[test]
fn cloudinit_of_a_running_machine_is_written_anew() {
    let config = json!({"ide2": "local:100/vm-100-cloudinit.qcow2,media=cdrom", "ciuser": "a"});
    let mut running = guest(&config);
    running.running = true;
    let args = json!({"ciuser": "b"});
    assert_eq!(
        lines(&args, &found(running.clone())).unwrap(),
        [
            "set ciuser to \"b\" (was \"a\") on vm web (100)",
            "write the cloud-init drive of vm web (100) anew",
        ]
    );
    assert_eq!(lines(&args, &found(guest(&config))).unwrap().len(), 1);
    // what an interrupted run left behind is finished
    running.config.insert("ciuser".into(), "b".into());
    running.pending.insert("ciuser".into(), Some("b".into()));
    assert_eq!(
        lines(&args, &found(running)).unwrap(),
        ["write the cloud-init drive of vm web (100) anew"]
    );
}
