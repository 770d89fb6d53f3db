import type { JsonObject } from "@deltawire/wire";
import { asString, isObject } from "@deltawire/wire";

const stopReasons = ["end_turn", "stop_sequence", "tool_use", "max_tokens", "refusal"];
/** After these a call may be incomplete. */
const cutReasons = new Set([
  "max_tokens",
  "refusal",
  "model_context_window_exceeded",
  "pause_turn",
]);

const deltaFields: Record<string, [blockType: string, field: string]> = {
  text_delta: ["text", "text"],
  thinking_delta: ["thinking", "thinking"],
  signature_delta: ["thinking", "signature"],
  input_json_delta: ["tool_use", "partial_json"],
};

/**
 * Returns the faults in a sequence of Messages events. It has none if the strictest client can read it: one start, blocks one
 * after another with consecutive indexes, deltas of their own block, calls with unique legal ids, one stop reason with usage,
 * and `message_stop` or an error at the end. `isForwarded`: for events of a Messages upstream, which may also have empty deltas and
 * the blocks of tools that a server runs.
 */
export function findMessageSequenceFaults(
  events: readonly object[],
  { isForwarded = false }: { isForwarded?: boolean } = {},
): string[] {
  const faults: string[] = [];
  const callIds = new Set<unknown>();
  const blocks: { type: unknown; text: string; hasSignature: boolean }[] = [];
  let phase = "new" as "new" | "blocks" | "stopping" | "ended";
  let openIndex: number | undefined;
  let stopReason: unknown;

  events.forEach((value, position) => {
    const event = value as JsonObject;
    const { type } = event;
    const fault = (text: string): void =>
      void faults.push(`#${position} ${JSON.stringify(type)}: ${text}`);
    if (phase === "ended") return fault("an event after the end");
    if (type === "ping") return;
    if (type === "error") {
      phase = "ended";
      const { error } = event;
      if (!isObject(error) || typeof error["type"] !== "string" || !error["message"])
        fault("an error without a type or a message");
      return;
    }
    if (phase === "new" && type !== "message_start") fault("before message_start");
    switch (type) {
      case "message_start": {
        if (phase !== "new") fault("a second start");
        phase = "blocks";
        const message = event["message"] as JsonObject;
        const { id, role, model, content, stop_reason: reason } = message;
        if (typeof id !== "string" || id === "") fault("no id");
        if (typeof model !== "string" || model === "") fault("no model");
        if (role !== "assistant" || message["type"] !== "message") fault("wrong role or type");
        if (!Array.isArray(content) || content.length > 0) fault("content is not empty");
        if (reason !== null || message["stop_sequence"] !== null) fault("a stop reason");
        faults.push(...(isForwarded ? [] : findUsageFaults(message["usage"])));
        return;
      }
      case "content_block_start": {
        if (phase !== "blocks") fault("after the stop reason");
        if (openIndex !== undefined) fault(`block ${openIndex} is open`);
        if (event["index"] !== blocks.length) fault(`index ${JSON.stringify(event["index"])}`);
        openIndex = blocks.length;
        const block = event["content_block"] as JsonObject;
        blocks.push({ type: block["type"], text: "", hasSignature: false });
        if (block["type"] === "text" && block["text"] !== "") fault("text in the start");
        if (block["type"] === "thinking" && block["thinking"] !== "")
          fault("thinking in the start");
        if (block["type"] !== "tool_use") return;
        const { id, name, input } = block;
        if (typeof id !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(id))
          fault(`id ${JSON.stringify(id)}`);
        if (callIds.has(id)) fault(`id ${JSON.stringify(id)} twice`);
        callIds.add(id);
        if (typeof name !== "string" || name === "") fault("a call without a name");
        if (!isObject(input) || Object.keys(input).length > 0) fault("input in the start");
        return;
      }
      case "content_block_delta": {
        const delta = event["delta"] as JsonObject;
        const block = blocks[openIndex ?? -1];
        if (event["index"] !== openIndex || block === undefined) return fault("of another block");
        const [blockType, field] = deltaFields[asString(delta["type"])] ?? [];
        if (isForwarded && (blockType === undefined || block.type !== "tool_use")) {
          if (blockType === "text" || blockType === "thinking")
            block.text += asString(delta[field ?? ""]);
          return;
        }
        if (block.type !== blockType)
          return fault(`${JSON.stringify(delta["type"])} in a ${JSON.stringify(block.type)} block`);
        const text = delta[field ?? ""];
        if (typeof text !== "string" || (text === "" && !isForwarded))
          return fault("an empty delta");
        if (block.hasSignature) fault("after the signature");
        if (delta["type"] === "signature_delta") block.hasSignature = true;
        else block.text += text;
        return;
      }
      case "content_block_stop": {
        if (event["index"] !== openIndex) fault(`index ${JSON.stringify(event["index"])}`);
        const block = blocks[openIndex ?? -1];
        const text = isForwarded ? block?.text : block?.text.trim();
        if (block?.type === "text" && text === "") fault("a blank text block");
        openIndex = undefined;
        return;
      }
      case "message_delta": {
        if (openIndex !== undefined) fault(`block ${openIndex} is open`);
        phase = "stopping";
        const delta = event["delta"] as JsonObject;
        stopReason = delta["stop_reason"];
        if (!stopReasons.includes(asString(stopReason)) && !isForwarded)
          fault(`stop reason ${JSON.stringify(stopReason)}`);
        if ((stopReason === "stop_sequence") !== (typeof delta["stop_sequence"] === "string"))
          fault("a stop sequence without its stop reason, or the reverse");
        faults.push(...(isForwarded ? [] : findUsageFaults(event["usage"])));
        return;
      }
      case "message_stop":
        if (phase !== "stopping") fault("before the stop reason");
        phase = "ended";
        return;
      default:
        fault("unknown event");
    }
  });

  if (phase !== "ended") faults.push("neither message_stop nor an error at the end");
  if (stopReason === undefined) return faults;
  const calls = blocks.filter(({ type }) => type === "tool_use");
  const mayBeCut = cutReasons.has(asString(stopReason));
  if (stopReason === "tool_use" && calls.length === 0) faults.push("tool_use without a call");
  const mayHaveCalls = stopReason === "tool_use" || (isForwarded && stopReason === "stop_sequence");
  if (calls.length > 0 && !mayHaveCalls && !mayBeCut)
    faults.push(`calls with the stop reason ${JSON.stringify(stopReason)}`);
  for (const { text } of calls)
    if (!mayBeCut && text.trim() !== "" && !isJsonObject(text))
      faults.push(`arguments are not an object: ${text}`);
  return faults;
}

function findUsageFaults(usage: unknown): string[] {
  const counts = [
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
  ];
  if (!isObject(usage)) return ["no usage"];
  return counts.flatMap((name) => {
    const count = usage[name];
    return Number.isInteger(count) && Number(count) >= 0
      ? []
      : [`usage.${name} ${JSON.stringify(count)}`];
  });
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
