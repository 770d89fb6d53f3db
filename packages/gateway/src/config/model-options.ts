import type { ModelOptions } from "@deltawire/tasks/chats";
import type { DecodeContext } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";

/** Returns the options unchanged. Reports parameters that the gateway sets, and Chat parameters. */
export function checkModelOptions(
  options: ModelOptions,
  path: KeyPath,
  { problems }: DecodeContext,
): ModelOptions {
  for (const name of Object.keys(options)) {
    const reason = reservedOptions.get(name);
    const responsesName = responsesNames.get(name);
    if (reason !== undefined)
      problems.error([...path, name], `is set by the gateway (${reason}); remove it`);
    else if (responsesName !== undefined)
      problems.warn([...path, name], `is a Chat parameter; use ${responsesName} instead`);
  }
  return options;
}

const reservedOptions: ReadonlyMap<string, string> = new Map([
  ["model", "there is a setting for it"],
  ["input", "it is the conversation"],
  ["messages", "it is the conversation"],
  ["instructions", "there are settings for agents and chats"],
  ["tools", "it is derived from tool_groups"],
  ["stream", "responses are always streamed"],
  ["store", "the gateway stores responses, not the upstream"],
  ["include", "it depends on the chat"],
  ["previous_response_id", "the complete conversation is sent"],
  ["conversation", "the complete conversation is sent"],
  ["background", "responses are always streamed"],
  ["stream_options", "responses are always streamed"],
  ["prompt", "the complete conversation is sent"],
  ["client_metadata", "it is only for Codex; use metadata"],
  ["n", "one answer is requested at a time"],
]);

/** The Responses names of Chat parameters. All others have the same name on both wires, or belong to image and audio models. */
const responsesNames: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["reasoning_effort", 'reasoning = { effort = "…" }'],
]);
