//! Applies what a user says about memory: save, edit, state facts, judge, forget.

pub mod edit;
pub mod facts;
pub mod forget;
pub mod judge;
pub mod privacy;
pub mod save;
