/** What always holds in a log, each with the name under which its breach is told. */
export type RuleName =
  // the log
  | "shape" // an event has the fields of its type
  | "dense_numbers" // numbers, or the ranges that events stand for, tile the integers from 0
  | "unique_ids" // tasks, items, calls, approvals and executions of a tree have ids of their own
  | "unfinished" // the log of a whole run ends with the root's terminal event
  // tasks
  | "created_first" // `task.created` is the first event of its task, a parent's before a child's
  | "created_once"
  | "created_fields" // version, root, status and attempt of a new task
  | "parent_call" // a sub-task's id is a call of its parent that is being answered
  | "depth"
  | "status_transition"
  | "input_required_ancestors" // whoever waits for a person has ancestors that wait too
  | "input_required_approvals" // it waits for approvals that are pending in it or below
  | "one_terminal" // exactly one terminal event, and nothing after it
  | "children_end_first"
  | "items_closed" // no item is open when its task ends
  | "approvals_closed"
  | "executions_closed"
  | "rounds" // numbered from 1, one at a time, and the model's items stand within one
  | "compression" // created before in progress before completed
  | "usage_cumulative"
  | "state_hash"
  // items
  | "output_index"
  | "item_id"
  | "item_opens_empty"
  | "item_once" // done once or retracted once
  | "item_identity" // `done` closes the item that was added
  | "item_status"
  | "retraction" // only what the model said in the present round, and nobody has built upon
  | "open_part" // deltas and ends of parts that are open, one part at a time
  | "part_index"
  | "parts_closed" // no part is open when its item is done
  | "joined_is_done"
  | "surrogate_pairs"
  | "block_list" // a given `block_list` equals the reduced one
  | "child_blocks" // the blocks of a sub-agent's result are its items, and come from nowhere else
  // calls
  | "arguments_done" // a call is done after its arguments, once
  | "one_result"
  | "result_of_call"
  | "call_has_result"
  // citations
  | "annotations"
  | "reference_ids"
  | "reference_blocks"
  | "block_ids" // a block with a number belongs to the reference of that number
  // approvals and executions
  | "approval_of_call"
  | "approval_pending" // resolved once, and only while it is pending
  | "approval_choice"
  | "not_approved" // nothing runs that waits for its approval or was refused
  | "execution_of_call" // only a whole call that has no result is run
  | "executed_hash"
  | "run_once"
  | "execution_attempt"
  | "execution_running"; // progress and end of the run that was started

export class RuleBroken extends Error {
  readonly rule: RuleName;

  constructor(rule: RuleName, message: string) {
    super(message);
    this.name = "RuleBroken";
    this.rule = rule;
  }
}
