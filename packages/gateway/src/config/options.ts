import type { ModelOptions } from "@deltawire/tasks/chats";
import type { Reading } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";

/** Parameters of a request, without those that are not for a file to say. */
export function usableOptions(
  options: ModelOptions,
  path: KeyPath,
  { problems }: Reading,
): ModelOptions {
  for (const name of Object.keys(options)) {
    const reason = ours.get(name);
    const other = namesOfChat.get(name);
    if (reason !== undefined)
      problems.error([...path, name], `is set by the gateway itself: ${reason}; take it out`);
    else if (other !== undefined)
      problems.warn([...path, name], `is a name of the Chat wire; write ${other}`);
  }
  return options;
}

const ours: ReadonlyMap<string, string> = new Map([
  ["model", "it is named beside the options"],
  ["input", "it is the conversation"],
  ["messages", "they are the conversation"],
  ["instructions", "they are those of the agent and the chat"],
  ["tools", "they come from tool_groups"],
  ["stream", "answers are always streamed"],
  ["store", "answers are kept here, and not by the upstream"],
  ["include", "it follows from what a chat needs"],
  ["previous_response_id", "the whole conversation is sent"],
  ["conversation", "the whole conversation is sent"],
  ["background", "answers are always streamed"],
  ["stream_options", "answers are always streamed"],
  ["prompt", "the conversation itself is sent"],
  ["client_metadata", "it is for Codex only; write metadata"],
  ["n", "a question has one answer at a time"],
]);

/** Whoever writes these is used to Chat. The others have the same name on both wires, or belong to pictures and speech. */
const namesOfChat: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["reasoning_effort", 'reasoning = { effort = "…" }'],
]);
