use std::fs;
use std::path::Path;

use remora_core::event::{Body, Origin, Start};
use remora_core::privacy::clean;
use remora_core::time::Time;
use remora_store::{EventRecord, SessionQuery};

use crate::support::{World, event, write_git_directory};

impl World {
    /// The project of a new session in `directory`.
    fn project_of(&self, session: &str, directory: &Path) -> i64 {
        let body = Body::SessionStarted { source: Start::New };
        self.hook(&EventRecord::new(clean(event(session, directory, Origin::default(), body)), Time::now()));
        self.open().sessions().list(&SessionQuery::named(session)).unwrap().remove(0).project_id.0
    }
}

#[test]
fn repositories_of_the_same_name_are_two_projects_and_a_subdirectory_is_not_a_third() {
    let world = World::new();
    let one = world.make_repository("work/app", None);
    let other = world.make_repository("play/app", None);
    let below = world.make_dir("work/app/src/deep");
    let first = world.project_of("a", &one);
    assert_ne!(first, world.project_of("b", &other));
    assert_eq!(first, world.project_of("c", &below));
    let names: Vec<String> =
        world.open().projects().list().unwrap().into_iter().map(|project| project.name).collect();
    assert_eq!(names, ["app", "app"]);
}

#[test]
fn a_worktree_shares_the_project_of_its_repository() {
    let world = World::new();
    let main = world.make_repository("app", None);
    let linked = main.join(".git/worktrees/feature");
    fs::create_dir_all(&linked).unwrap();
    fs::write(linked.join("commondir"), "../..\n").unwrap();
    fs::write(linked.join("HEAD"), "ref: refs/heads/feature\n").unwrap();
    let worktree = world.make_dir("elsewhere/feature");
    fs::write(worktree.join(".git"), format!("gitdir: {}\n", linked.display())).unwrap();
    // The worktree comes first: it must not name the project.
    let project = world.project_of("a", &worktree);
    assert_eq!(project, world.project_of("b", &main));
    assert_eq!(world.open().projects().list().unwrap()[0].name, "app");
}

#[test]
fn worktrees_of_a_bare_repository_share_a_project() {
    let world = World::new();
    let bare = world.path("app.git");
    write_git_directory(&bare, None);
    let mut projects = Vec::new();
    for name in ["one", "two"] {
        let linked = bare.join("worktrees").join(name);
        fs::create_dir_all(&linked).unwrap();
        fs::write(linked.join("commondir"), "../..\n").unwrap();
        let worktree = world.make_dir(name);
        fs::write(worktree.join(".git"), format!("gitdir: {}\n", linked.display())).unwrap();
        projects.push(world.project_of(name, &worktree));
    }
    assert_eq!(projects[0], projects[1]);
    assert_eq!(world.open().projects().list().unwrap()[0].name, "app");
}

#[test]
fn clones_of_one_remote_share_a_project_and_other_remotes_do_not() {
    let world = World::new();
    let one = world.make_repository("one", Some("git@example.org:team/app.git"));
    let two = world.make_repository("two", Some("https://user:token@example.org/team/app"));
    let other = world.make_repository("three", Some("https://example.org/team/other"));
    let project = world.project_of("a", &one);
    assert_eq!(project, world.project_of("b", &two));
    assert_ne!(project, world.project_of("c", &other));
    let stored = format!("{:?}", world.open().projects().list().unwrap());
    assert!(!stored.contains("token"), "{stored}");
}

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let world = World::new();
    let outer = world.make_repository("outer", None);
    let module = outer.join(".git/modules/inner");
    write_git_directory(&module, None);
    let inner = world.make_dir("outer/vendor/inner");
    fs::write(inner.join(".git"), "gitdir: ../../.git/modules/inner\n").unwrap();
    assert_ne!(world.project_of("a", &outer), world.project_of("b", &inner));
    assert_eq!(world.open().projects().list().unwrap()[1].name, "inner");
}

#[test]
fn a_directory_without_git_is_its_own_project_even_if_it_does_not_exist() {
    let world = World::new();
    let plain = world.make_dir("notes");
    let project = world.project_of("a", &plain);
    assert_eq!(project, world.project_of("b", &plain));
    assert_ne!(project, world.project_of("c", &world.make_dir("notes2")));
    let missing = world.path("gone/app");
    assert_eq!(world.project_of("d", &missing), world.project_of("e", &missing));
}

#[test]
fn a_moved_repository_keeps_its_memory_and_leaves_none_at_its_old_place() {
    let world = World::new();
    let old = world.make_repository("old", None);
    let project = world.project_of("a", &old);
    let new = world.path("new");
    fs::rename(&old, &new).unwrap();
    assert_eq!(project, world.project_of("b", &new));
    let stranger = world.make_repository("old", None);
    assert_ne!(project, world.project_of("c", &stranger));
    // Moved again, to a third place.
    let third = world.path("third");
    fs::rename(&new, &third).unwrap();
    assert_eq!(project, world.project_of("d", &third));
}

#[test]
fn another_repository_at_the_same_path_is_another_project() {
    let world = World::new();
    let path = world.make_repository("app", Some("https://example.org/team/first"));
    let first = world.project_of("a", &path);
    fs::remove_dir_all(&path).unwrap();
    // A restored copy of the same repository stays in the project.
    world.make_repository("app", Some("https://example.org/team/first"));
    assert_eq!(first, world.project_of("b", &path));
    fs::remove_dir_all(&path).unwrap();
    fs::write(world.path("keeps-the-inode-from-being-reused"), "").unwrap();
    world.make_repository("app", Some("https://example.org/team/second"));
    assert_ne!(first, world.project_of("c", &path));
}

#[test]
fn git_init_in_a_known_directory_keeps_its_memory() {
    let world = World::new();
    let path = world.make_dir("app");
    let project = world.project_of("a", &path);
    write_git_directory(&path.join(".git"), None);
    assert_eq!(project, world.project_of("b", &path));
}

#[test]
fn a_session_stays_with_its_project_wherever_the_agent_goes() {
    let world = World::new();
    let one = world.make_repository("one", None);
    let two = world.make_repository("two", None);
    let project = world.project_of("a", &one);
    assert_eq!(project, world.project_of("a", &two));
}
