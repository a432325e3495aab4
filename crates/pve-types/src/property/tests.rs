//! Real lines through every codec.

use proptest::prelude::*;

use super::*;
use crate::MacAddress;

/// Pairs of lines and whether they mean the same.
fn check(grammar: &Grammar, rows: &[(&str, &str, bool)]) {
    for (one, other, same) in rows {
        assert_eq!(grammar.same(one, other), *same, "{one} | {other}");
        assert_eq!(grammar.same(other, one), *same, "{other} | {one}");
    }
}

#[test]
fn b04_network_devices_compare_by_meaning() {
    check(
        NetDevice::GRAMMAR,
        &[
            (
                "virtio=BC:24:11:01:02:03,bridge=vmbr0,tag=10,firewall=1",
                "bridge=vmbr0,firewall=1,tag=10,model=virtio,macaddr=bc:24:11:01:02:03",
                true,
            ),
            (
                "virtio=BC:24:11:01:02:03,bridge=vmbr0",
                "virtio=bc-24-11-01-02-03,bridge=vmbr0",
                true,
            ),
            ("virtio,bridge=vmbr0", "model=virtio,bridge=vmbr0,firewall=0", true),
            ("virtio,bridge=vmbr0", "e1000,bridge=vmbr0", false),
            ("virtio,bridge=vmbr0,tag=10", "virtio,bridge=vmbr0", false),
            ("virtio,rate=5.5,trunks=1;2", "trunks=2;1,rate=5.50,virtio", true),
            ("virtio,new-in-pve-10=a", "virtio,new-in-pve-10=b", false),
        ],
    );
    let net = NetDevice::new("model=virtio,macaddr=bc:24:11:01:02:03,bridge=vmbr0");
    assert_eq!(net.model(), Some("virtio"));
    assert_eq!(net.bridge(), Some("vmbr0"));
    assert_eq!(net.mac().map(|mac: MacAddress| mac.to_string()).unwrap(), "BC:24:11:01:02:03");
}

#[test]
fn lines_that_pve_holds_are_written_again_as_they_are() {
    for (grammar, line) in [
        (NetDevice::GRAMMAR, "virtio=BC:24:11:06:A3:B8,bridge=vmbr0,firewall=1,tag=10"),
        (NetDevice::GRAMMAR, "e1000=BC:24:11:AA:BB:CD,bridge=vmbr1,mtu=1400,queues=2,rate=5.5"),
        (NetDevice::GRAMMAR, "virtio=bc:24:11:aa:bb:cc,bridge=vmbr0,unheard-of=x"),
        (Disk::GRAMMAR, "local:110/vm-110-disk-0.qcow2,discard=on,iothread=1,size=64M,ssd=1"),
        (Disk::GRAMMAR, "local:114/vm-114-disk-2.raw,size=4M,version=v2.0"),
        (Disk::GRAMMAR, "local:114/vm-114-disk-0.raw,efitype=4m,pre-enrolled-keys=1,size=528K"),
        (Disk::GRAMMAR, "none,media=cdrom"),
        (Disk::GRAMMAR, "local:iso/x.iso,media=cdrom,size=350K"),
        (IpConfig::GRAMMAR, "ip=10.0.99.50/24,gw=10.0.99.1"),
        (CpuModel::GRAMMAR, "host,flags=+aes;-pcid,hidden=1"),
        (Vga::GRAMMAR, "qxl,memory=32"),
        (Machine::GRAMMAR, "pc-q35-9.0,viommu=intel"),
        (Boot::GRAMMAR, "order=scsi0;ide2;net0"),
        (Smbios::GRAMMAR, "base64=1,serial=QUJDPT0=,uuid=11111111-2222-3333-4444-555555555555"),
        (LxcNet::GRAMMAR, "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:10:20:30,ip=dhcp,type=veth"),
    ] {
        assert_eq!(grammar.line(&grammar.options(line)), line);
    }
}

#[test]
fn b32_addresses_compare_by_meaning() {
    check(
        IpConfig::GRAMMAR,
        &[
            ("gw=10.1.1.1,ip=10.1.248.5/16", "ip=10.1.248.5/16,gw=10.1.1.1", true),
            ("ip=10.1.248.5/16", "ip=10.1.248.5/24", false),
            ("ip6=2001:db8:0::5/64", "ip6=2001:DB8::5/64", true),
            ("ip=dhcp", "ip=dhcp,ip6=auto", false),
        ],
    );
    assert_eq!(IpConfig::new("ip=dhcp,ip6=2001:db8::5/64").fixed().len(), 1);
}

#[test]
fn drives_compare_by_meaning() {
    check(
        Disk::GRAMMAR,
        &[
            (
                "local:110/vm-110-disk-0.raw,size=1024M",
                "size=1G,volume=local:110/vm-110-disk-0.raw",
                true,
            ),
            ("local:110/a.raw,ssd=0", "local:110/a.raw", true),
            ("local:110/a.raw,discard=on", "local:110/a.raw", false),
            ("none,media=cdrom", "media=cdrom,file=none", true),
        ],
    );
}

#[test]
fn where_a_drive_comes_from() {
    let storage = |id: &str| id.parse::<crate::StorageId>().unwrap();
    for (line, source) in [
        ("none,media=cdrom", DiskSource::Empty),
        ("cdrom", DiskSource::HostDrive),
        ("local:8", DiskSource::Allocate { storage: storage("local"), gib: "8".into() }),
        (
            "local:0,import-from=local:import/x.qcow2",
            DiskSource::Allocate { storage: storage("local"), gib: "0".into() },
        ),
        ("local:cloudinit", DiskSource::NewCloudInit(storage("local"))),
        ("local-lvm:vm-1-disk-0", DiskSource::Volume("local-lvm:vm-1-disk-0".parse().unwrap())),
        ("file=/dev/sdb", DiskSource::Other("/dev/sdb".into())),
    ] {
        assert_eq!(Disk::new(line).source().unwrap(), source, "{line}");
    }
    let drive = Disk::new("local:110/vm-110-cloudinit.qcow2,media=cdrom,size=4M");
    assert!(drive.is_cloudinit() && drive.is_cdrom());
    assert_eq!(drive.size().unwrap().to_string(), "4M");
}

#[test]
fn other_settings_compare_by_meaning() {
    check(
        Agent::GRAMMAR,
        &[
            ("1", "enabled=1", true),
            ("enabled=1,type=virtio", "1,fstrim_cloned_disks=0", true),
            ("1", "0", false),
            ("1,freeze-fs-on-backup=0", "enabled=1,freeze-fs=0", true),
        ],
    );
    check(
        CpuModel::GRAMMAR,
        &[
            ("host", "cputype=host", true),
            ("host,flags=+aes;-pcid", "flags=-pcid;+aes,cputype=host", true),
            ("host", "kvm64", false),
        ],
    );
    check(Startup::GRAMMAR, &[("3", "order=3", true), ("order=3,up=10", "up=10,order=3", true)]);
    check(Boot::GRAMMAR, &[("order=scsi0;net0", "order=net0;scsi0", false)]);
    check(MemoryString::GRAMMAR, &[("2048", "current=2048", true), ("0128", "128", true)]);
    assert!(Agent::new("enabled=1").enabled() && !Agent::new("0").enabled());
    assert_eq!(Startup::new("3,up=10").spelled_out(), "order=3,up=10");
    assert_eq!(Boot::new("order=scsi0;ide2").order(), ["scsi0", "ide2"]);
    assert_eq!(Smbios::new("uuid=AA11").uuid().unwrap(), "aa11");
}

const GRAMMARS: [&Grammar; 11] = [
    NetDevice::GRAMMAR,
    LxcNet::GRAMMAR,
    Disk::GRAMMAR,
    IpConfig::GRAMMAR,
    Agent::GRAMMAR,
    Boot::GRAMMAR,
    Startup::GRAMMAR,
    CpuModel::GRAMMAR,
    Vga::GRAMMAR,
    Smbios::GRAMMAR,
    MemoryString::GRAMMAR,
];

/// A line of parts that may be known or not.
fn line() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("virtio".to_owned()),
        Just("model".to_owned()),
        Just("macaddr".to_owned()),
        Just("size".to_owned()),
        Just("firewall".to_owned()),
        "[a-z][a-z0-9_-]{0,8}",
    ];
    let part = prop_oneof![
        "[A-Za-z0-9:/._-]{1,12}",
        (key, "[A-Za-z0-9:/.;+= _-]{0,12}").prop_map(|(key, value)| format!("{key}={value}")),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.join(","))
}

proptest! {
    #[test]
    fn parse_print_parse_is_the_identity(line in line()) {
        for grammar in GRAMMARS {
            let options = grammar.options(&line);
            prop_assert_eq!(grammar.options(&grammar.line(&options)), options, "{}", grammar.what);
        }
        prop_assert_eq!(NetDevice::new(&line).to_string(), line);
    }

    #[test]
    fn unknown_sub_options_survive(line in line(), value in "[a-z0-9]{1,8}") {
        for grammar in GRAMMARS {
            let mut options = grammar.options(&line);
            options.insert("not-yet-known".to_owned(), value.clone());
            let again = grammar.options(&grammar.line(&options));
            prop_assert_eq!(again.get("not-yet-known"), Some(&value));
        }
    }

    #[test]
    fn every_line_equals_itself(line in line()) {
        for grammar in GRAMMARS {
            prop_assert!(grammar.same(&line, &line));
        }
    }
}
