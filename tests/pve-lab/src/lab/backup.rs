//! Backups, which the lab's API does not make.

use super::Lab;

impl Lab {
    /// Puts a backup of a guest into storage `local` and returns its volume id. It holds the
    /// configuration; its disks come back empty.
    pub fn back_up(&self, vmid: u32) -> String {
        let name = format!("vzdump-qemu-{vmid}-2026_01_01-00_00_00.vma.zst");
        let text = self.config_text(vmid).unwrap_or_default();
        let folder = self.dir().join("storage/local/dump");
        #[expect(clippy::expect_used, reason = "this is for tests, and one cannot go on without")]
        std::fs::write(folder.join(&name), text).expect("the lab's directory can be written");
        format!("local:backup/{name}")
    }
}
