//! Runs a built module the way Ansible does.
