import type { JsonObject } from "../json.ts";

/**
 * What a Chat upstream must get back on the next turn and a Responses history has no field for
 * (decision 40). It travels in `encrypted_content` of a reasoning item, sealed by whoever holds a key:
 * this package only packs and unpacks it.
 */
export interface ReasoningCarry {
  /** `reasoning_details` in order, fragments of one entry joined, otherwise verbatim. */
  details?: JsonObject[];
  /** Copilot's `reasoning_opaque`. */
  opaque?: string;
  /** `extra_content` of tool calls (Gemini's thought signatures) by `call_id`. */
  calls?: Record<string, JsonObject>;
}

/** Makes an opaque string of a carry; undefined when nothing can be sealed here. */
export type Seal = (carry: ReasoningCarry) => string | undefined;

/** The inverse; undefined for a string that this gateway did not seal for this upstream. */
export type Unseal = (sealed: string) => ReasoningCarry | undefined;
