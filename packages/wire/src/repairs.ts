/** Kinds of repairs, for counters, logs and the user interface. */
export type RepairCode =
  // the body of a reply
  | "event_not_json"
  | "event_spliced"
  | "complete_reply_for_stream"
  | "stream_for_complete_reply"
  | "last_event_unterminated"
  // envelope
  | "envelope_completed"
  | "usage_moved"
  | "usage_estimated"
  | "data_after_end"
  | "deltas_differ"
  | "event_dropped"
  | "event_completed"
  | "response_completed"
  // text and reasoning
  | "content_parts_flattened"
  | "content_not_text"
  | "reasoning_tags_split"
  | "reasoning_repeated"
  | "reasoning_ignored"
  | "opaque_reasoning_lost"
  | "content_dropped"
  // tool calls
  | "call_id_generated"
  | "call_id_changed"
  | "call_name_joined"
  | "call_name_ignored"
  | "call_without_name"
  | "call_index_ignored"
  | "call_withheld"
  | "call_repeated"
  | "call_leaked"
  | "legacy_function_call"
  | "arguments_blank"
  | "arguments_cumulative"
  | "arguments_repeated"
  | "arguments_placeholder"
  | "arguments_split"
  | "arguments_object"
  | "arguments_tail_dropped"
  | "arguments_incomplete"
  | "custom_input_unwrapped"
  // end of the reply
  | "finish_corrected"
  | "finish_unknown"
  | "finish_repeated"
  | "finish_missing"
  | "error_ignored"
  // requests
  | "item_skipped"
  | "tool_dropped"
  | "tool_renamed"
  | "tool_schema_completed"
  | "parameter_dropped"
  | "parameter_changed"
  | "role_mapped"
  | "history_reordered"
  | "call_without_result"
  | "result_without_call"
  | "content_converted"
  | "reasoning_dropped"
  | "item_id_renewed";

export interface Repair {
  code: RepairCode;
  /** Index of the Chat choice; 0 for repairs of the complete reply or of the request. */
  choice: number;
  /** An excerpt of the upstream's data, or the path in the request. At most 200 characters; may be empty. */
  detail: string;
}

/** Further repairs are only counted: a stream may have a million repaired chunks. */
const maxListedRepairs = 64;
const maxDetailLength = 200;

export class Repairs {
  readonly list: Repair[] = [];
  readonly counts = new Map<RepairCode, number>();
  /** Number of repairs of all codes. */
  total = 0;

  /** Adds the repairs of a further step, after those of this one. */
  merge(later: Repairs): this {
    this.list.push(...later.list.slice(0, maxListedRepairs - this.list.length));
    for (const [code, count] of later.counts)
      this.counts.set(code, (this.counts.get(code) ?? 0) + count);
    this.total += later.total;
    return this;
  }

  add(code: RepairCode, detail: string, choice = 0): void {
    this.total += 1;
    this.counts.set(code, (this.counts.get(code) ?? 0) + 1);
    if (this.list.length < maxListedRepairs)
      this.list.push({ code, choice, detail: detail.slice(0, maxDetailLength) });
  }
}
