//! What a user wrote, held against what PVE takes. What a server wrote is never checked: it may be
//! newer than this.

use super::grammar::{Grammar, Kind, MODELS, Options};
use super::string::PropertyString;
use crate::MacAddress;
use crate::lenient::{is_false, is_true};

impl Grammar {
    /// The canonical name of a key as a person writes it: with underscores for hyphens if need be.
    #[must_use]
    pub fn written_key<'a>(&self, key: &'a str) -> &'a str
    where
        Self: 'a,
    {
        if let Some((_, name)) = self.aliases.iter().find(|(alias, _)| same_key(alias, key)) {
            return name;
        }
        self.keys.iter().find(|known| same_key(known, key)).map_or(key, |known| known)
    }

    /// Whether a key stands for the model and the MAC address at once.
    #[must_use]
    pub fn is_model(&self, key: &str) -> bool {
        self.models && MODELS.contains(&key)
    }

    /// Checks a key by its canonical name; `more` are keys that the caller takes beside PVE's.
    ///
    /// # Errors
    /// Names the key and those that are allowed.
    pub fn check_key(&self, key: &str, more: &[&str]) -> Result<(), String> {
        if self.keys.contains(&key) || more.contains(&key) {
            return Ok(());
        }
        Err(format!("unknown key '{key}'; allowed are {}", self.allowed(more)))
    }

    /// Checks the value of a key by its canonical name, as far as its values are limited.
    ///
    /// # Errors
    /// Names the key, the value and what is allowed.
    pub fn check_value(&self, key: &str, value: &str) -> Result<(), String> {
        if value.is_empty() {
            return Err(format!("{key} has no value: give one, or null to take it away"));
        }
        if value.contains(',') {
            return Err(format!(
                "{key} '{value}' has a comma in it, which a property string cannot hold; a list is \
                 joined by ';'"
            ));
        }
        if let Some((_, choices)) = self.choices.iter().find(|(name, _)| *name == key)
            && !choices.contains(&value)
        {
            return Err(format!("{key} '{value}' is not one of {}", choices.join(", ")));
        }
        if self.kind(key) == Kind::Flag && !is_true(value) && !is_false(value) {
            return Err(format!("{key} '{value}' is neither 1 nor 0"));
        }
        if let Some((_, limit)) = self.limits.iter().find(|(name, _)| *name == key) {
            limit.check(value).map_err(|error| format!("{key} {error}"))?;
        }
        Ok(())
    }

    /// A value as PVE writes it: of a truth value 1 or 0, however it was spelt.
    #[must_use]
    pub fn written_value(&self, key: &str, value: &str) -> String {
        match self.kind(key) {
            Kind::Flag if is_true(value) => "1".to_owned(),
            Kind::Flag if is_false(value) => "0".to_owned(),
            _ => value.to_owned(),
        }
    }

    /// Checks a whole line.
    ///
    /// # Errors
    /// Names what is wrong and what is allowed.
    pub fn check_line(&self, line: &str, more: &[&str]) -> Result<(), String> {
        let mut seen = Vec::new();
        let string = PropertyString::new(line);
        for part in string.parts() {
            let key = match (part.key.as_deref(), self.default_key) {
                (Some(key), _) if self.is_model(key) => "model",
                (Some(key), _) if self.models && part.value.parse::<MacAddress>().is_ok() => {
                    let key = self.canonical_key(key);
                    if key != "macaddr" {
                        return self.check_value("model", key);
                    }
                    key
                }
                (Some(key), _) => self.canonical_key(key),
                (None, Some(key)) => key,
                (None, None) => {
                    let allowed = self.allowed(more);
                    return Err(format!("'{}' has no key; allowed are {allowed}", part.value));
                }
            };
            if seen.contains(&key) {
                return Err(format!("{key} is given twice"));
            }
            seen.push(key);
            self.check_key(key, more)?;
            if !part.key.as_deref().is_some_and(|key| self.is_model(key)) {
                self.check_value(key, &part.value)?;
            }
        }
        Ok(())
    }

    /// Checks that nothing is missing that no line may lack.
    ///
    /// # Errors
    /// Names the key that is missing.
    pub fn check_complete(&self, options: &Options) -> Result<(), String> {
        match self.required.iter().find(|key| !options.contains_key(**key)) {
            Some(key) => Err(format!("{key} is missing, and {} needs it", self.what)),
            None => Ok(()),
        }
    }

    fn allowed(&self, more: &[&str]) -> String {
        let keys: Vec<&str> = more.iter().chain(self.keys).copied().collect();
        keys.join(", ")
    }
}

fn same_key(known: &str, written: &str) -> bool {
    known.len() == written.len()
        && known
            .bytes()
            .zip(written.bytes())
            .all(|(known, written)| known == written || known == b'-' && written == b'_')
}

#[cfg(test)]
mod tests {
    use crate::Setting;

    fn line(key: &str, line: &str) -> String {
        let Setting::Line(grammar) = Setting::of(key) else { return "no line".into() };
        grammar.check_line(line, &[]).err().unwrap_or_default()
    }

    #[test]
    fn lines_that_are_wrong_say_what_is_allowed() {
        for (key, given, text) in [
            ("startup", "ordr=1", "unknown key 'ordr'; allowed are order, up, down"),
            ("startup", "order=1,up=2", ""),
            ("agent", "enabld=1", "unknown key 'enabld'; allowed are enabled, freeze-fs,"),
            ("agent", "1,type=usb", "type 'usb' is not one of virtio, isa"),
            ("agent", "enabld", "enabled 'enabld' is neither 1 nor 0"),
            ("agent", "1,guest-fsfreeze=0", ""),
            ("agent", "enabled=1,enabled=0", "enabled is given twice"),
            ("net0", "virtio,brige=vmbr0", "unknown key 'brige'; allowed are model, macaddr,"),
            ("net0", "virtio,vlan=3", "unknown key 'vlan'"),
            ("net0", "virtioo,bridge=vmbr0", "model 'virtioo' is not one of virtio, e1000"),
            ("net0", "virtioo=BC:24:11:00:00:01", "model 'virtioo' is not one of virtio"),
            ("net0", "e1000=BC:24:11:00:00:01,bridge=vmbr0", ""),
            ("net0", "model=virtio,macaddr=BC:24:11:00:00:01", ""),
            ("scsi0", "local:1,cachee=none", "unknown key 'cachee'; allowed are iothread,"),
            ("scsi0", "local:1,cache=non", "cache 'non' is not one of none, writethrough"),
            ("scsi0", "local:1,iops_rd_length=3", ""),
            ("virtio0", "local:1,ssd=1", "unknown key 'ssd'"),
            ("sata0", "local:1,iothread=1", "unknown key 'iothread'"),
            ("efidisk0", "local:1,efitype=4m,cache=none", "unknown key 'cache'"),
            ("tpmstate0", "local:1,version=v3", "version 'v3' is not one of v1.2, v2.0"),
            ("unused0", "local:100/a.raw,size=1G", "unknown key 'size'; allowed are file"),
            ("boot", "ordr=scsi0", "unknown key 'ordr'; allowed are order, legacy"),
            ("cpu", "host,flaggs=+aes", "unknown key 'flaggs'"),
            ("cpu", "a-model-of-next-year", ""),
            ("machine", "pc-q35-99.0,viommu=amd", "viommu 'amd' is not one of intel, virtio"),
            ("vga", "qxl,mem=32", "unknown key 'mem'"),
            ("vga", "qlx", "type 'qlx' is not one of std"),
            ("watchdog", "i6300,action=reset", "model 'i6300' is not one of i6300esb, ib700"),
            ("watchdog", "actoin=reset", "unknown key 'actoin'"),
            ("smbios1", "serail=x", "unknown key 'serail'"),
            ("rng0", "/dev/rand", "source '/dev/rand' is not one of /dev/urandom"),
            ("numa0", "cpu=0", "unknown key 'cpu'"),
            ("numa0", "0-1", "'0-1' has no key; allowed are cpus, hostnodes, memory, policy"),
            ("audio0", "device=ac97", "device 'ac97' is not one of ich9-intel-hda"),
            ("ipconfig0", "ip=dhcp,gatway=10.0.0.1", "unknown key 'gatway'; allowed are ip, gw"),
            ("hostpci0", "01:00.0,driver=keep", ""),
            ("usb0", "spice,usb=3", "unknown key 'usb'"),
            ("virtiofs0", "share,cache=yes", "cache 'yes' is not one of auto"),
            ("intel-tdx", "tdx,attestation=1,vsock-port=1", ""),
            ("cicustom", "usr=local:snippets/a", "unknown key 'usr'"),
            ("ivshmem", "size=1,nam=a", "unknown key 'nam'"),
            ("spice_enhancements", "videostreaming=on", "is not one of off, all, filter"),
            ("memory", "current=512,max=9", "unknown key 'max'; allowed are current"),
            ("net0", "virtio,rate=abc", "rate 'abc' is not a number from 0 up"),
            ("net0", "virtio,trunks=1-", "trunks '1-' is not of the form: numbers or ranges"),
            ("net0", "virtio,trunks=10;20-30,mtu=1,queues=4", ""),
            ("startup", "order=a", "order 'a' is not a whole number from 0 up"),
            ("smbios1", "uuid=abc", "uuid 'abc' is not of the form: eight, four, four, four"),
            ("smbios1", "uuid=0f8fad5b-d9cb-469f-a165-70867728950e", ""),
            ("machine", "q36", "type 'q36' is not of the form: q35, pc, pc-q35-9.0,"),
            ("machine", "pc-q35-9.2+pve1,aw-bits=48", ""),
            ("machine", "pc-i440fx-8.1", ""),
            ("machine", "q35,aw-bits=16", "aw-bits '16' is not a number from 32 to 64"),
            ("vga", "qxl,memory=3", "memory '3' is not a whole number from 4 to 512"),
            ("cpu", "host,flags=aes", "flags 'aes' is not of the form: flags with + or -"),
            ("cpu", "host,flags=+aes;-pcid,phys-bits=host", ""),
            ("scsi0", "local:1,mbps=fast", "mbps 'fast' is not a number from 0 up"),
            ("scsi0", "local:1,queues=1", "queues '1' is not a whole number from 2 up"),
            ("scsi0", "local:1,wwn=5000c500", "wwn '5000c500' is not of the form: 0x and sixteen"),
            ("scsi0", "local:1,wwn=0x5000c50015ea71aa,vendor=Acme,serial=a%20b", ""),
            ("scsi0", "local:1,vendor=TooLongAName", "vendor 'TooLongAName' is not of the form"),
            ("usb0", "0951", "host '0951' is not of the form: VENDOR:PRODUCT"),
            ("usb0", "0951:1666,usb3=1", ""),
            ("usb0", "host=1-1.2", ""),
            ("numa0", "cpus=0-1;3,memory=1024", ""),
            ("numa0", "cpus=a", "cpus 'a' is not of the form"),
            ("rng0", "/dev/urandom,period=x", "period 'x' is not a number from 0 up"),
            (
                "smbios1",
                "manufacturer=A B",
                "manufacturer 'A B' is not of the form: letters, digits, +",
            ),
            ("smbios1", "manufacturer=QSBC,base64=1,serial=abc==", ""),
            ("scsi0", "local:1,serial=a b", "serial 'a b' is not of the form: letters, digits and"),
            ("ide0", "local:1,model=a/b", "model 'a/b' is not of the form: letters, digits and"),
            (
                "boot",
                "scsi0;net0",
                "legacy 'scsi0;net0' is not of the form: order=scsi0;net0, or one",
            ),
            ("boot", "order=", "order has no value: give one, or null to take it away"),
            ("boot", "cdn", ""),
            ("net0", "virtio,bridge=vmbr0,tag=", "tag has no value"),
            ("cicustom", "user=/etc/x", "user '/etc/x' is not of the form: a volume of content"),
            ("cicustom", "user=local:snippets/a.yml", ""),
            ("hostpci0", "01:00.0,vendor-id=8086", "vendor-id '8086' is not of the form: 0x"),
        ] {
            let said = line(key, given);
            assert!(said.starts_with(text) || !text.is_empty() && said.ends_with(text), "{said}");
            assert_eq!(said.is_empty(), text.is_empty(), "{key}={given}: {said}");
        }
    }

    #[test]
    fn hyphens_may_be_underscores() {
        for (key, written, name) in [
            ("agent", "freeze_fs_on_backup", "freeze-fs"),
            ("scsi0", "import_from", "import-from"),
            ("scsi0", "iops_rd", "iops_rd"),
            ("hostpci0", "x_vga", "x-vga"),
            ("agent", "fstrim-cloned-disks", "fstrim-cloned-disks"),
        ] {
            let Setting::Line(grammar) = Setting::of(key) else { panic!("{key}") };
            assert_eq!(grammar.written_key(written), name, "{key}");
        }
    }
}
