//! The exit codes of `enclos`: what a script may rely on.
//!
//! Each code says whose turn it is. The table is part of the public contract: it is added to, never changed.

use enclos_protocol::error::Fault;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: failed.
    Failed,
    /// 2: the command line, a file or a variable cannot be used.
    Usage,
    /// 3: the budget is spent.
    Budget,
    /// 4: something was refused by policy or a person, even when a change set came of the rest.
    Refused,
    /// 5: an approval is needed or expired.
    Approval,
    /// 6: the gateway or the model cannot be reached.
    Unreachable,
    /// 129: the terminal hung up (signal 1).
    HungUp,
    /// 130: interrupted by the person (signal 2).
    Interrupted,
    /// 141: whoever read the output is gone (signal 13).
    Pipe,
    /// 143: asked to end (signal 15).
    Terminated,
    /// Any other code that is passed on: of a command in a sandbox, of a verification, of a run.
    Passed(u8),
}

impl Exit {
    /// `sandbox run`: the command met its time limit.
    pub const TIME_LIMIT: Self = Self::Passed(124);
    /// `sandbox run`: it was not the command that failed, but Enclos.
    pub const OUR_FAILURE: Self = Self::Passed(125);
    /// `journal verify`: bad input or bad usage.
    pub const BAD_INPUT: Self = Self::Passed(5);

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Budget => 3,
            Self::Refused => 4,
            Self::Approval => 5,
            Self::Unreachable => 6,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Pipe => 141,
            Self::Terminated => 143,
            Self::Passed(code) => code,
        }
    }
}

impl From<Fault> for Exit {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Usage | Fault::Configuration | Fault::NotFound => Self::Usage,
            Fault::Budget => Self::Budget,
            Fault::Refused => Self::Refused,
            Fault::Approval => Self::Approval,
            Fault::Unreachable => Self::Unreachable,
            Fault::Internal => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use enclos_protocol::error::Fault;

    use super::Exit;

    #[test]
    fn the_table_of_the_contract() {
        let table = [
            (Exit::Done, 0),
            (Exit::Failed, 1),
            (Exit::Usage, 2),
            (Exit::Budget, 3),
            (Exit::Refused, 4),
            (Exit::Approval, 5),
            (Exit::Unreachable, 6),
            (Exit::HungUp, 129),
            (Exit::Interrupted, 130),
            (Exit::Pipe, 141),
            (Exit::Terminated, 143),
            (Exit::TIME_LIMIT, 124),
            (Exit::OUR_FAILURE, 125),
            (Exit::BAD_INPUT, 5),
            (Exit::Passed(77), 77),
        ];
        for (exit, code) in table {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
    }

    #[test]
    fn every_fault_has_its_code() {
        let table = [
            (Fault::Internal, 1),
            (Fault::Usage, 2),
            (Fault::Configuration, 2),
            (Fault::NotFound, 2),
            (Fault::Budget, 3),
            (Fault::Refused, 4),
            (Fault::Approval, 5),
            (Fault::Unreachable, 6),
        ];
        for (fault, code) in table {
            assert_eq!(Exit::from(fault).code(), code, "{fault:?}");
        }
    }
}
