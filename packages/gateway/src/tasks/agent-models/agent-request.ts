import { inputPart, type TaskRequest } from "@deltawire/agent";
import type { ContentPart } from "@deltawire/tasks";
import {
  isObject,
  type ContentPart as WirePart,
  type InputItem,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { ClientRequest } from "../../relay/plan.ts";
import { invalid, parseBody } from "../../parse-body.ts";
import { taskRequest } from "../task-request.ts";

export interface AgentAsked {
  task: TaskRequest;
  /** Equal for a request and for another try at it: what a client heard of a failed reply it may send along. */
  key: string;
}

/** What an agent is asked by a client that takes it for a model: the last words are the task, the rest came before. */
export function agentRequest(
  request: ResponsesRequest,
  agent: string,
  client: ClientRequest,
): AgentAsked {
  checkWishes(request, client);
  const { input } = request;
  const given: InputItem[] =
    typeof input === "string" ? [{ role: "user", content: input }] : (input ?? []);
  const isCodex = client.wire === "responses" && client.codex;
  const items = isCodex ? withoutCodexPrompt(given, request) : given;
  const instructions = isCodex ? "" : (request.instructions ?? "");
  const place = client.wire === "chat" ? "messages" : "input";
  if (items.length === 0) throw invalid(place, "expected something to do, got nothing");
  const last = items.at(-1);
  const asked = last !== undefined && isUserMessage(last) ? contentOf(last.content) : [];
  const said = items.slice(0, items.findLastIndex(isUserMessage) + 1);
  const history = (asked.length === 0 ? items : items.slice(0, -1)).map(asTold);
  return {
    task: {
      agent,
      // The same may be said here as to a task.
      input: asked.length === 0 ? [] : parseBody(taskRequest, { agent, input: asked }).input,
      history,
      ...(instructions === "" ? {} : { instructions }),
    },
    key: JSON.stringify([agent, instructions, (said.length === 0 ? items : said).map(withoutId)]),
  };
}

/**
 * An earlier item in the form in which the model was sent it when it was new, so that its prompt cache fits. The ids of an
 * agent's messages are ours: no upstream knows them.
 */
function asTold(item: InputItem): InputItem {
  if (isUserMessage(item))
    return isWordsAndPictures(item.content)
      ? { type: "message", role: "user", content: contentOf(item.content).map(inputPart) }
      : item;
  return item["role"] === "assistant" ? (withoutId(item) as InputItem) : item;
}

function isWordsAndPictures(content: Message["content"]): boolean {
  if (typeof content === "string") return content !== "";
  return content.every(
    ({ text, image_url }) => typeof text === "string" || image_url !== undefined,
  );
}

/** Codex gives its items new ids with every run. */
function withoutId({ id: _id, ...item }: InputItem & { id?: unknown }): object {
  return item;
}

/** What an agent cannot do is refused, where it would otherwise be left undone in silence. */
function checkWishes({ tool_choice: choice, text }: ResponsesRequest, client: ClientRequest): void {
  if (client.wire === "chat" && (client.request.n ?? 1) > 1)
    throw invalid("n", "an agent answers once; ask for 1");
  if (choice === "required" || (isObject(choice) && choice["mode"] !== "auto"))
    throw invalid("tool_choice", "an agent calls its own tools, and never one of the client's");
  const format = text?.format?.type ?? "text";
  if (format !== "text")
    throw invalid(
      client.wire === "chat" ? "response_format" : "text.format",
      `an agent answers in its own words, not as ${format}; ask a model for that`,
    );
}

/**
 * What Codex tells a model of Codex's own tools, which an agent has not got: its prompt, which since 0.166 is the first of
 * the messages, and what it says of the sandbox and of skills. The user's words stay, AGENTS.md among them.
 */
function withoutCodexPrompt(
  items: readonly InputItem[],
  { instructions }: ResponsesRequest,
): InputItem[] {
  const rest = (instructions ?? "") === "" && isOf("developer", items[0]) ? items.slice(1) : items;
  return rest.flatMap((item): InputItem[] => {
    if (!isOf("developer", item) || typeof item.content === "string") return [item];
    const content = item.content.filter(({ text }) => !/^<[\w ]*instructions>/.test(text ?? ""));
    return content.length === 0 ? [] : [{ ...item, content }];
  });
}

type Message = Extract<InputItem, { role: unknown }>;

function isOf(role: Message["role"], item: InputItem | undefined): item is Message {
  return item !== undefined && "role" in item && item["role"] === role;
}

function isUserMessage(item: InputItem): item is Message {
  return isOf("user", item);
}

function contentOf(content: Message["content"]): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.flatMap((part) => partOf(part) ?? []);
}

function partOf(part: WirePart): ContentPart | undefined {
  const { image_url: image, input_audio: audio, file_data, file_url, file_id, filename } = part;
  if (typeof part.text === "string") return { type: "text", text: part.text };
  const url = typeof image === "string" ? image : image?.url;
  if (url !== undefined) return { type: "image_url", image_url: { url } };
  if (typeof audio?.["data"] === "string") {
    const format = typeof audio["format"] === "string" ? audio["format"] : "wav";
    return {
      type: "audio_url",
      audio_url: { url: `data:audio/${format};base64,${audio["data"]}` },
    };
  }
  const file = typeof file_data === "string" ? asDataUrl(file_data) : file_url;
  if (typeof file === "string") {
    const name = typeof filename === "string" && filename !== "" ? { filename } : {};
    return { type: "file_url", file_url: { url: file }, ...name };
  }
  if (typeof file_id === "string")
    throw invalid("file_id", "files are not kept here; send the file's own data");
  return undefined;
}

/** Some clients send base64 alone. */
function asDataUrl(data: string): string {
  return data.startsWith("data:") ? data : `data:application/octet-stream;base64,${data}`;
}
