//! Recognises a process later. A pid alone is not enough, because the system reuses it.

use rustix::process::Pid;

/// Programs that run a command for another program, by the names that the kernel reports.
#[cfg(target_os = "linux")]
const SHELLS: &[&[u8]] = &[
    b"sh", b"bash", b"dash", b"zsh", b"ash", b"ksh", b"mksh", b"fish", b"busybox", b"env", b"timeout",
    b"nice",
];
/// Limit for the number of shells between a host and its hook. More than two are rare.
#[cfg(target_os = "linux")]
const MAX_SHELLS: usize = 6;

/// Limit for the number of ancestors. Real trees have some ten; the limit ends a loop of parents that changed meanwhile.
#[cfg(target_os = "linux")]
const MAX_ANCESTORS: usize = 100;

/// The identity of a process, for comparison at a later time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    pub pid: u32,
    /// Start time, in clock ticks since boot. Known only on Linux; on other systems a new process with the same pid
    /// is mistaken for the old one.
    pub started_at: Option<u64>,
}

impl Identity {
    /// The parent of this process; `None` if it has ended or the system does not show it.
    pub fn of_parent() -> Option<Self> {
        Self::of(rustix::process::getppid()?.as_raw_nonzero().get().unsigned_abs())
    }

    /// The program that runs this process as a hook: the nearest ancestor that is not a shell, because hosts run
    /// hooks through shells. `None` if the system does not show the parent of a process.
    #[cfg(target_os = "linux")]
    pub fn of_host() -> Option<Self> {
        let mut pid = rustix::process::getppid()?.as_raw_nonzero().get().unsigned_abs();
        for _ in 0..MAX_SHELLS {
            let stat = crate::small_file::read_small_bytes(format!("/proc/{pid}/stat").as_ref()).ok()?;
            let (name, parent) = name_and_parent(&stat)?;
            if !SHELLS.contains(&name) {
                let Sight::Running { started_at } = parse(&stat) else { return None };
                return Some(Self { pid, started_at });
            }
            pid = parent;
        }
        None
    }

    #[cfg(not(target_os = "linux"))]
    pub fn of_host() -> Option<Self> {
        None
    }

    /// The ancestors of this process, its parent first. The list ends where the system does not show a process, and is
    /// empty on systems that do not show the parent of a process.
    #[cfg(target_os = "linux")]
    pub fn ancestors() -> Vec<Self> {
        let parent = rustix::process::getppid();
        let mut pid = parent.map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs());
        let mut ancestors = Vec::new();
        while pid != 0 && ancestors.len() < MAX_ANCESTORS {
            let Ok(stat) = crate::small_file::read_small_bytes(format!("/proc/{pid}/stat").as_ref()) else {
                break;
            };
            let (Sight::Running { started_at }, Some((_, parent))) = (parse(&stat), name_and_parent(&stat))
            else {
                break;
            };
            ancestors.push(Self { pid, started_at });
            pid = parent;
        }
        ancestors
    }

    #[cfg(not(target_os = "linux"))]
    pub fn ancestors() -> Vec<Self> {
        Vec::new()
    }

    /// A running process; `None` if no process has this pid or the system does not show it.
    pub fn of(pid: u32) -> Option<Self> {
        match look(pid) {
            Sight::Running { started_at } => Some(Self { pid, started_at }),
            Sight::Gone | Sight::Unknown => None,
        }
    }

    /// Whether the process is still running. A zombie is not. If the system gives no answer, the process counts as
    /// alive.
    pub fn is_alive(&self) -> bool {
        match look(self.pid) {
            Sight::Running { started_at } => started_at == self.started_at,
            Sight::Gone => false,
            Sight::Unknown => true,
        }
    }
}

/// What the system reports about a process.
enum Sight {
    Running { started_at: Option<u64> },
    Gone,
    Unknown,
}

#[cfg(target_os = "linux")]
fn look(pid: u32) -> Sight {
    use rustix::io::Errno;

    if to_pid(pid).is_none() {
        return Sight::Gone;
    }
    match crate::small_file::read_small_bytes(format!("/proc/{pid}/stat").as_ref()) {
        Ok(stat) => parse(&stat),
        Err(error) if crate::file::is_absent(&error) => Sight::Gone,
        // It ended between opening and reading.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => Sight::Gone,
        Err(_) => Sight::Unknown,
    }
}

/// The name of a process and the pid of its parent, from `/proc/PID/stat`.
#[cfg(target_os = "linux")]
fn name_and_parent(stat: &[u8]) -> Option<(&[u8], u32)> {
    let begin = stat.iter().position(|byte| *byte == b'(')? + 1;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    Some((stat.get(begin..end)?, parent))
}

/// Parses `/proc/PID/stat`. The second field is the program's name in parentheses and may contain any bytes,
/// including spaces and parentheses, so fields are counted from the last closing parenthesis.
#[cfg(target_os = "linux")]
fn parse(stat: &[u8]) -> Sight {
    const STATE: usize = 3;
    const START_TIME: usize = 22;
    let behind_name = stat.iter().rposition(|byte| *byte == b')').map(|end| &stat[end + 1..]);
    let fields = behind_name.and_then(|rest| std::str::from_utf8(rest).ok()).unwrap_or_default();
    let mut fields = fields.split_ascii_whitespace();
    let Some(state) = fields.next() else { return Sight::Unknown };
    if matches!(state, "Z" | "X") {
        return Sight::Gone;
    }
    match fields.nth(START_TIME - STATE - 1).and_then(|ticks| ticks.parse().ok()) {
        Some(ticks) => Sight::Running { started_at: Some(ticks) },
        None => Sight::Unknown,
    }
}

#[cfg(not(target_os = "linux"))]
fn look(pid: u32) -> Sight {
    use rustix::io::Errno;

    let Some(pid) = to_pid(pid) else { return Sight::Gone };
    match rustix::process::test_kill_process(pid) {
        // A process of another user also exists.
        Ok(()) | Err(Errno::PERM) => Sight::Running { started_at: None },
        Err(Errno::SRCH) => Sight::Gone,
        Err(_) => Sight::Unknown,
    }
}

fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_alive_until_it_ends() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let identity = Identity::of(child.id()).unwrap();
        assert!(identity.is_alive());
        assert_eq!(Identity::of(child.id()), Some(identity));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!identity.is_alive());
        assert_eq!(Identity::of(child.id()), None);
    }

    #[test]
    fn a_parent_is_known_and_alive() {
        let parent = Identity::of_parent().unwrap();
        assert_eq!(parent.pid, std::os::unix::process::parent_id());
        assert!(parent.is_alive());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ancestors_begin_with_the_parent_and_end_with_the_first_process() {
        let ancestors = Identity::ancestors();
        assert_eq!(ancestors.first().copied(), Identity::of_parent());
        assert!(ancestors.iter().all(Identity::is_alive), "{ancestors:?}");
        assert!(!ancestors.iter().any(|ancestor| ancestor.pid == std::process::id()));
    }

    #[test]
    fn impossible_pids_have_no_identity() {
        for pid in [0, u32::MAX] {
            assert_eq!(Identity::of(pid), None);
            assert!(!Identity { pid, started_at: Some(1) }.is_alive());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_host_is_the_nearest_program_that_is_not_a_shell() {
        let own = Identity::of(std::process::id()).unwrap();
        // The test acts as a hook: it starts itself, directly and through shells, and prints the host it finds.
        if std::env::var_os("PRINT_HOST").is_some() {
            let host = Identity::of_host().unwrap();
            return std::fs::write(std::env::var_os("PRINT_HOST").unwrap(), host.pid.to_string()).unwrap();
        }
        let temp = tempfile::tempdir().unwrap();
        let printed = temp.path().join("host");
        let program = std::env::current_exe().unwrap();
        let name = "process::identity::tests::the_host_is_the_nearest_program_that_is_not_a_shell";
        let run = format!("'{}' --exact {name}", program.display());
        for command in [format!("exec {run}"), format!("{run}; true"), format!("sh -c \"{run}; true\"; true")]
        {
            let mut shell = Command::new("sh");
            shell.args(["-c", &command]).env("PRINT_HOST", &printed).stdout(Stdio::null());
            assert!(shell.status().unwrap().success());
            assert_eq!(std::fs::read_to_string(&printed).unwrap(), own.pid.to_string(), "{command}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_reused_pid_is_a_different_process() {
        let own = Identity::of(std::process::id()).unwrap();
        let earlier = Identity { started_at: own.started_at.map(|ticks| ticks - 1), ..own };
        assert!(own.is_alive());
        assert!(!earlier.is_alive());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_zombie_counts_as_ended() {
        let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
        let identity = Identity::of(child.id());
        // Its end of the pipe closes when it exits. A moment later it is a zombie, because nothing has waited for it
        // yet.
        std::io::copy(&mut child.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
        while identity.is_some_and(|identity| identity.is_alive()) {
            std::thread::yield_now();
        }
        assert_eq!(Identity::of(child.id()), None);
        child.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_may_contain_spaces_parentheses_and_any_bytes() {
        let numbers: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        for name in [&b"a) R 1 ("[..], b"\xff\xfe", b")"] {
            let line = [b"7 (", name, b") S ", numbers.join(" ").as_bytes(), b"\n"].concat();
            assert!(matches!(parse(&line), Sight::Running { started_at: Some(22) }));
        }
        assert!(matches!(parse(b"7 (x) Z 1"), Sight::Gone));
        assert!(matches!(parse(b"7 (x) S 1"), Sight::Unknown));
        assert!(matches!(parse(b""), Sight::Unknown));
    }
}
