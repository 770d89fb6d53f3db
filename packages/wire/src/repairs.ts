/** What can be mended. One word per kind, so that a gateway can count and show them. */
export type RepairCode =
  // the body of a reply
  | "event_not_json"
  | "event_spliced"
  | "whole_reply_for_stream"
  | "stream_for_whole_reply"
  | "last_event_unterminated"
  // envelope
  | "envelope_completed"
  | "usage_moved"
  | "usage_estimated"
  | "data_after_end"
  | "deltas_differ"
  | "event_dropped"
  | "event_completed"
  // text and reasoning
  | "content_parts_flattened"
  | "content_not_text"
  | "reasoning_tags_split"
  | "reasoning_repeated"
  | "reasoning_ignored"
  | "carry_lost"
  // tool calls
  | "call_id_minted"
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
  | "arguments_not_whole"
  | "custom_input_unwrapped"
  // the end
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
  /** The choice it happened in; 0 for what concerns the whole reply or the request. */
  choice: number;
  /** The provider's own words, where there are any, or the place in the request. */
  detail: string;
}

/** A stream of a million mended chunks must not become a million records: the counts go on, the list stops. */
const listed = 64;
const detailLength = 200;

export class Repairs {
  readonly list: Repair[] = [];
  readonly counts = new Map<RepairCode, number>();
  /** How many there were of all codes. */
  total = 0;

  add(code: RepairCode, detail: string, choice = 0): void {
    this.total += 1;
    this.counts.set(code, (this.counts.get(code) ?? 0) + 1);
    if (this.list.length < listed)
      this.list.push({ code, choice, detail: detail.slice(0, detailLength) });
  }
}
