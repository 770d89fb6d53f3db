import { defineAgent, defineTool, type Agent } from "@deltawire/agent";
import type { Decision } from "@deltawire/tasks";
import {
  nodeOf,
  type AnswerNode,
  type AnswerVersion,
  type Chat,
  type ChatClient,
  type PersonEdit,
  type SendBody,
  type SentReply,
} from "@deltawire/tasks/chats";
import { pause } from "./scene.ts";

/* A chat in which everything happens that can happen in one, made by its API alone. */

/** What the model's server must never see. */
export const privateValues = {
  ofUser: "ada.lovelace@example.com",
  ofTool: "charles@engine.example",
  ofProject: "Difference Engine",
  inArguments: "+44 20 7946 0958",
};
/** What a tool has found and a person has kept from the model. */
export const refusedWords = "the diary says that nobody may read this";

/** What the tool that writes letters was given. */
export type Letters = { to: string; text: string }[];

export function officeAgents(letters: Letters): Agent[] {
  const text = { type: "string" };
  const weather = defineTool<{ city: string }>({
    name: "get_weather",
    description: "The weather in a city.",
    input: { properties: { city: text }, required: ["city"] },
    effect: "pure",
    run: ({ city }) => {
      const found = { type: "text", text: `${city}: sunny`, id: city, title: "A forecast" };
      return { message_content: [found], block_list: [found] };
    },
  });
  const letter = defineTool<{ to: string; text: string }>({
    name: "send_letter",
    description: "Sends a letter to somebody.",
    input: { properties: { to: text, text }, required: ["to", "text"] },
    approval: "ask always",
    run: (sent) => {
      letters.push(sent);
      return `sent to ${sent.to}; an answer is expected from ${privateValues.ofTool}`;
    },
  });
  const diary = defineTool({
    name: "open_diary",
    description: "Opens the diary.",
    effect: "pure",
    approval: { result: "always" },
    run: () => refusedWords,
  });
  const model = "demo/clean";
  const forecaster = defineAgent({
    name: "forecaster",
    description: "Knows the weather everywhere.",
    instructions: "You tell the weather.",
    model,
    tools: [weather],
  });
  const clerk = defineAgent({
    name: "clerk",
    instructions: `You work for the ${privateValues.ofProject}.`,
    model,
    tools: [weather, letter, diary],
    agents: [forecaster],
  });
  return [clerk, forecaster];
}

/** One who uses the API of one chat. */
export class ChatUser {
  readonly client: ChatClient;
  readonly chatId: string;

  constructor(client: ChatClient, chatId: string) {
    this.client = client;
    this.chatId = chatId;
  }

  async chat(): Promise<Chat> {
    return (await this.client.open(this.chatId)).chat;
  }

  /** Sends and waits for the answer. */
  async send(body: SendBody, decision?: Decision): Promise<AnswerNode> {
    return this.answer(await this.client.send(this.chatId, body), decision);
  }

  /** The answer when it has ended; every question to a person is answered by `decision`. */
  async answer(
    { node_id, version_id, task_id }: SentReply,
    decision?: Decision,
  ): Promise<AnswerNode> {
    for (const end = Date.now() + 30_000; Date.now() < end; await pause(10)) {
      const node = nodeOf(await this.chat(), node_id);
      if (node?.kind !== "answer") throw new Error(`${node_id} is no answer`);
      const version = node.versions.find((one) => one.version_id === version_id);
      if (version?.status !== "running") return node;
      if (version.waiting === true && decision !== undefined) await this.#decide(task_id, decision);
    }
    throw new Error("the answer never came");
  }

  async edit(...edits: PersonEdit[]): Promise<void> {
    const { revision } = await this.chat();
    await this.client.edits(this.chatId, { revision, edits });
  }

  /** The title comes after the first answer. */
  async named(): Promise<void> {
    for (const end = Date.now() + 30_000; Date.now() < end; await pause(10))
      if ((await this.chat()).title_by === "model") return;
    throw new Error("nobody named the chat");
  }

  async #decide(taskId: string, decision: Decision): Promise<void> {
    const { approvals } = await this.client.task(taskId);
    for (const { approval_id, status } of approvals)
      if (status === "pending") await this.client.decide(approval_id, { decision });
  }
}

/** Everything that happens, in order; what it left is told by name. */
export async function live(user: ChatUser) {
  const { client, chatId } = user;
  const greeting = await user.send({
    text: `I am ${privateValues.ofUser}, and I work on the ${privateValues.ofProject}.`,
    contexts: [{ kind: "page", title: "Calling card", text: privateValues.inArguments }],
  });
  await user.named();
  const tool = await user.send({ text: "Please get_weather for Paris" });
  const letter = `Please send_letter to "${privateValues.ofUser}", text: "my number is ${privateValues.inArguments}"`;
  const approved = await user.send({ text: letter }, "approve");
  const denied = await user.send({ text: letter.replace("my", "her") }, "deny");
  const kept = await user.send({ text: "Please open_diary" }, "deny");
  const helped = await user.send({ text: "Ask forecaster about the weather in Rome" });

  const painted = await user.send({ text: "a blue house", model: "demo/painter" });
  const edited = await user.send({ text: "make it green", model: "demo/retoucher" });
  const spoken = await user.send({ text: "Good morning", model: "demo/speaker" });
  const url = mediumOf(spoken);
  const heard = await user.send({
    text: "",
    attachments: [{ kind: "audio", url, filename: "morning.wav" }],
    model: "demo/listener",
  });

  const again = await user.answer(await client.rerun(chatId, { node_id: tool.node_id }));
  await user.edit(
    { type: "add_separator", after: helped.node_id },
    { type: "pin", node_id: tool.node_id, value: true },
    { type: "hide", node_id: denied.node_id, value: true },
    { type: "bookmark", node_id: helped.node_id, value: true },
    { type: "tag", tags: ["engine", "天气"] },
  );
  const question = nodeOf(await user.chat(), heard.node_id)?.parent ?? "";
  const branched = await client.edit(chatId, {
    node_id: question,
    text: "What do you know of me?",
    attachments: [{ kind: "image", url: mediumOf(painted), filename: "house.png" }],
    as: "branch",
  });
  if (!("task_id" in branched)) throw new Error("the branch was not sent");
  const branch = await user.answer(branched);
  const nodes = { greeting, tool, approved, denied, kept, helped, painted, edited, spoken, heard };
  return { ...nodes, again, branch };
}

export function lastVersion({ versions }: AnswerNode): AnswerVersion {
  const version = versions.at(-1);
  if (version === undefined) throw new Error("an answer has a version");
  return version;
}

/** The words of an answer's last message. */
export function saidLast(node: AnswerNode): string {
  const { output } = lastVersion(node);
  const message = output.findLast(({ type }) => type === "message");
  if (message?.type !== "message") return "";
  return message.block_list.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** The address of the picture or the sound of an answer. */
export function mediumOf(node: AnswerNode): string {
  for (const item of lastVersion(node).output)
    for (const block of item.type === "message" ? item.block_list : []) {
      if (block.type === "image") return block.image_url.url;
      if (block.type === "audio") return block.audio_url.url;
    }
  throw new Error(`nothing was made: ${JSON.stringify(lastVersion(node))}`);
}
