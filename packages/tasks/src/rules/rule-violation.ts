/** The invariants of a log. */
export type RuleName =
  // the log
  | "shape" // events have the fields of their type
  | "dense_numbers" // sequence numbers (or coalesced ranges) are consecutive from 0
  | "unique_ids" // ids of tasks, items, calls, approvals and executions are unique in a tree
  | "unfinished" // a complete log ends with the terminal event of the root
  // tasks
  | "created_first" // `task.created` is the first event of a task; parents come before children
  | "created_once"
  | "created_fields" // version, root, status and attempt of a new task
  | "parent_call" // the id of a sub-agent's task is a call of its parent with an open result
  | "depth"
  | "status_transition"
  | "input_required_ancestors" // the ancestors of a task that is waiting for a user are waiting too
  | "input_required_approvals" // a task waits for approvals that are pending in it or below
  | "one_terminal" // exactly one terminal event, and no event after it
  | "children_end_first"
  | "items_closed" // a task ends without open items
  | "approvals_closed"
  | "executions_closed"
  | "rounds" // numbered from 1, one at a time; items of the model are added within a round
  | "compaction" // created, then in progress, then completed
  | "usage_cumulative"
  | "state_hash"
  // items
  | "output_index"
  | "item_id"
  | "item_opens_empty"
  | "item_once" // an item is done once or retracted once
  | "item_identity" // `done` closes the item that was added
  | "item_status"
  | "retraction" // only items of the current round that no other item depends on
  | "open_part" // deltas and ends belong to the open part; an item has at most one
  | "part_index"
  | "parts_closed" // an item is done without open parts
  | "deltas_match_done" // deltas add up to the text, arguments or summary with which a part or item is done
  | "surrogate_pairs"
  | "block_list" // the `block_list` of a done item equals the reduced one
  | "child_blocks" // the result of a sub-agent has no blocks, only the items of the sub-agent
  // calls
  | "arguments_done" // the arguments are done once, before the call is done
  | "one_result"
  | "result_of_call"
  | "call_has_result"
  // citations
  | "annotations"
  | "reference_ids"
  | "reference_blocks"
  | "block_ids" // a block with a number has a reference with that number
  // approvals and executions
  | "approval_of_call"
  | "approval_pending" // only a pending approval can be resolved
  | "approval_choice"
  | "not_approved" // calls with a pending or rejected approval do not run
  | "execution_of_call" // only complete calls without a result run
  | "executed_hash"
  | "run_once"
  | "execution_attempt"
  | "execution_running"; // progress and end belong to a running execution

/**
 * Thrown for an event that breaks an invariant. The `check…` functions of the rules throw it, or otherwise update the state of the
 * validator; the `assert…` functions only throw.
 */
export class RuleViolationError extends Error {
  readonly rule: RuleName;

  constructor(rule: RuleName, message: string) {
    super(message);
    this.name = "RuleViolationError";
    this.rule = rule;
  }
}
