//! One handle for each part of memory: `store.queue()` reads, `store.queue()` writes.

use crate::Store;

/// The captured events, and their way to memory.
#[derive(Debug, Clone, Copy)]
pub struct Queue<'a>(pub(crate) &'a Store);

/// What was stated, with its key and value.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a>(pub(crate) &'a Store);

/// Observations, summaries, prompts and events.
#[derive(Debug, Clone, Copy)]
pub struct Records<'a>(pub(crate) &'a Store);

/// The sessions of hosts, and their transcripts.
#[derive(Debug, Clone, Copy)]
pub struct Sessions<'a>(pub(crate) &'a Store);

/// The projects, and the directories that belong to them.
#[derive(Debug, Clone, Copy)]
pub struct Projects<'a>(pub(crate) &'a Store);

/// The files that memory is about, and the context files made of it.
#[derive(Debug, Clone, Copy)]
pub struct KnownFiles<'a>(pub(crate) &'a Store);

/// What was injected, and what may be injected next.
#[derive(Debug, Clone, Copy)]
pub struct Injections<'a>(pub(crate) &'a Store);

/// The documents and vectors that search reads.
#[derive(Debug, Clone, Copy)]
pub struct Index<'a>(pub(crate) &'a Store);

/// What is forgotten, can still be restored, or has to be erased.
#[derive(Debug, Clone, Copy)]
pub struct Forget<'a>(pub(crate) &'a Store);

/// The notes of the user's vaults.
#[derive(Debug, Clone, Copy)]
pub struct Notes<'a>(pub(crate) &'a Store);

impl Store {
    pub fn queue(&self) -> Queue<'_> {
        Queue(self)
    }

    pub fn facts(&self) -> Facts<'_> {
        Facts(self)
    }

    pub fn records(&self) -> Records<'_> {
        Records(self)
    }

    pub fn sessions(&self) -> Sessions<'_> {
        Sessions(self)
    }

    pub fn projects(&self) -> Projects<'_> {
        Projects(self)
    }

    pub fn files(&self) -> KnownFiles<'_> {
        KnownFiles(self)
    }

    pub fn injections(&self) -> Injections<'_> {
        Injections(self)
    }

    pub fn index(&self) -> Index<'_> {
        Index(self)
    }

    pub fn forget(&self) -> Forget<'_> {
        Forget(self)
    }

    pub fn notes(&self) -> Notes<'_> {
        Notes(self)
    }
}
