import { nonEmptyString } from "../json.ts";
import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatContentPart,
  ChatMessage,
  ChatToolCall,
} from "../shapes/chat-request.ts";
import { callsOf } from "./ordered-messages.ts";

/** A history for servers that insist on who speaks after whom; without their flags it stays as it is. */
export function strictOrder(
  history: readonly ChatMessage[],
  offersTools: boolean,
  profile: Profile,
  repairs: Repairs,
): ChatMessage[] {
  let messages = [...history];
  if (!offersTools && !profile.callsWithoutTools) messages = toldCalls(messages, repairs);
  if (!profile.sameRoleTwice) messages = joinedRoles(messages, repairs);
  return profile.userAfterTool ? messages : answeredResults(messages, repairs);
}

/** Calls and their results as words: nothing of them is lost, and none of them is a call any more. */
function toldCalls(messages: readonly ChatMessage[], repairs: Repairs): ChatMessage[] {
  const names = new Map<string, string>();
  return messages.map((message): ChatMessage => {
    if (message.role === "tool") {
      const label = `[Result of ${names.get(message.tool_call_id) ?? message.tool_call_id}]`;
      return { role: "user", content: joined(label, message.content) };
    }
    const calls = callsOf(message);
    if (calls.length === 0) return message;
    repairs.add("content_converted", "calls told in words, for no tool is offered");
    for (const call of calls) names.set(call.id, nameAndInput(call)[0]);
    const { tool_calls: _calls, ...rest } = message as ChatAssistantMessage;
    const told = calls.map((call) => `[Called ${nameAndInput(call).join(" with ")}]`).join("\n\n");
    return { ...rest, content: rest.content?.length ? joined(rest.content, told) : told };
  });
}

function nameAndInput(call: ChatToolCall): [name: string, input: string] {
  return call.type === "custom"
    ? [call.custom.name, call.custom.input]
    : [call.function.name, call.function.arguments];
}

function joinedRoles(messages: readonly ChatMessage[], repairs: Repairs): ChatMessage[] {
  const out: ChatMessage[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    const both = last === undefined ? undefined : oneMessage(last, message);
    if (both === undefined) {
      out.push(message);
      continue;
    }
    repairs.add("history_reordered", `two messages of the role ${message.role} made one`);
    out[out.length - 1] = both;
  }
  return out;
}

/** What two messages of one role say, in one; undefined where each has to stay: results, and calls before them. */
function oneMessage(first: ChatMessage, second: ChatMessage): ChatMessage | undefined {
  if (first.role !== second.role || first.role === "tool" || first.role === "function")
    return undefined;
  if (callsOf(first).length > 0) return undefined;
  const contents = [first.content, second.content];
  const [one, two] = contents.flatMap((content) => (content?.length ? [content] : []));
  if (one === undefined) return { ...first, ...second };
  return {
    ...first,
    ...second,
    content: two === undefined ? one : joined(one, two),
  } as ChatMessage;
}

function joined(first: ChatContent, second: ChatContent): ChatContent {
  if (typeof first === "string" && typeof second === "string")
    return [first, second].filter(nonEmptyString).join("\n\n");
  return [...parts(first), ...parts(second)];
}

function parts(content: ChatContent): ChatContentPart[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

/** Between a result and the user's next words the assistant says something, as if it had been asked to go on. */
function answeredResults(messages: readonly ChatMessage[], repairs: Repairs): ChatMessage[] {
  return messages.flatMap((message, index) => {
    if (message.role !== "user" || messages[index - 1]?.role !== "tool") return [message];
    repairs.add("history_reordered", "a word of the assistant between a result and the user");
    return [{ role: "assistant", content: "Noted." } as const, message];
  });
}
