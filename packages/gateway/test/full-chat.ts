import { defineAgent, defineTool, type Agent } from "@deltawire/agent";
import type { ApprovalDecision } from "@deltawire/tasks";
import {
  findNode,
  type AnswerNode,
  type AnswerVersion,
  type Chat,
  type ChatClient,
  type UserEdit,
  type SendBody,
  type SendReply,
} from "@deltawire/tasks/chats";
import { sleep } from "./gateway-fixture.ts";

/* A chat with every feature, created only through the API. */

/** Values that the model's server must never see. */
export const privateValues = {
  ofUser: "ada.lovelace@example.com",
  ofTool: "charles@engine.example",
  ofProject: "Difference Engine",
  inArguments: "+44 20 7946 0958",
};
/** A tool result that a user has denied to the model. */
export const withheldText = "the diary says that nobody may read this";

/** The arguments that the letter tool received. */
export type SentLetters = { to: string; text: string }[];

export function createChatAgents(letters: SentLetters): Agent[] {
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
    approval: "ask_always",
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
    run: () => withheldText,
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

/** Uses the API as the user of one chat. */
export class ChatUser {
  readonly client: ChatClient;
  readonly chatId: string;

  constructor(client: ChatClient, chatId: string) {
    this.client = client;
    this.chatId = chatId;
  }

  async chat(): Promise<Chat> {
    return (await this.client.get(this.chatId)).chat;
  }

  /** Sends a message and waits for the answer. */
  async send(body: SendBody, decision?: ApprovalDecision): Promise<AnswerNode> {
    return this.answer(await this.client.send(this.chatId, body), decision);
  }

  /** Waits for the end of an answer, and decides each approval with `decision`. */
  async answer(
    { node_id, version_id, task_id }: SendReply,
    decision?: ApprovalDecision,
  ): Promise<AnswerNode> {
    for (const end = Date.now() + 30_000; Date.now() < end; await sleep(10)) {
      const node = findNode(await this.chat(), node_id);
      if (node?.kind !== "answer") throw new Error(`${node_id} is not an answer`);
      const version = node.versions.find((one) => one.version_id === version_id);
      if (version?.status !== "running") return node;
      if (version.waiting === true && decision !== undefined) await this.#decide(task_id, decision);
    }
    throw new Error("the answer never came");
  }

  async edit(...edits: UserEdit[]): Promise<void> {
    const { revision } = await this.chat();
    await this.client.applyEdits(this.chatId, { revision, edits });
  }

  /** Resolves when the chat has a title, which is generated after the first answer. */
  async waitForTitle(): Promise<void> {
    for (const end = Date.now() + 30_000; Date.now() < end; await sleep(10))
      if ((await this.chat()).title_by === "model") return;
    throw new Error("the chat has no title");
  }

  async #decide(taskId: string, decision: ApprovalDecision): Promise<void> {
    const { approvals } = await this.client.task(taskId);
    for (const { approval_id, status } of approvals)
      if (status === "pending") await this.client.decide(approval_id, { decision });
  }
}

/** Runs everything in order and returns the results by name. */
export async function playFullChat(user: ChatUser) {
  const { client, chatId } = user;
  const greeting = await user.send({
    text: `I am ${privateValues.ofUser}, and I work on the ${privateValues.ofProject}.`,
    contexts: [{ kind: "page", title: "Calling card", text: privateValues.inArguments }],
  });
  await user.waitForTitle();
  const tool = await user.send({ text: "Please get_weather for Paris" });
  const letter = `Please send_letter to "${privateValues.ofUser}", text: "my number is ${privateValues.inArguments}"`;
  const approved = await user.send({ text: letter }, "approve");
  const denied = await user.send({ text: letter.replace("my", "her") }, "deny");
  const deniedAnswer = await user.send({ text: "Please open_diary" }, "deny");
  const helped = await user.send({ text: "Ask forecaster about the weather in Rome" });

  const painted = await user.send({ text: "a blue house", model: "demo/painter" });
  const edited = await user.send({ text: "make it green", model: "demo/retoucher" });
  const speech = await user.send({ text: "Good morning", model: "demo/speaker" });
  const url = getMediaUrl(speech);
  const transcription = await user.send({
    text: "",
    attachments: [{ kind: "audio", url, filename: "morning.wav" }],
    model: "demo/listener",
  });

  const rerunAnswer = await user.answer(await client.rerun(chatId, { node_id: tool.node_id }));
  await user.edit(
    { type: "add_separator", after: helped.node_id },
    { type: "pin", node_id: tool.node_id, value: true },
    { type: "hide", node_id: denied.node_id, value: true },
    { type: "bookmark", node_id: helped.node_id, value: true },
    { type: "tag", tags: ["engine", "天气"] },
  );
  const question = findNode(await user.chat(), transcription.node_id)?.parent ?? "";
  const branched = await client.editMessage(chatId, {
    node_id: question,
    text: "What do you know of me?",
    attachments: [{ kind: "image", url: getMediaUrl(painted), filename: "house.png" }],
    as: "branch",
  });
  if (!("task_id" in branched)) throw new Error("the branch was not sent");
  const branch = await user.answer(branched);
  const nodes = {
    greeting,
    tool,
    approved,
    denied,
    deniedAnswer,
    helped,
    painted,
    edited,
    speech,
    transcription,
  };
  return { ...nodes, rerunAnswer, branch };
}

export function getLastVersion({ versions }: AnswerNode): AnswerVersion {
  const version = versions.at(-1);
  if (version === undefined) throw new Error("an answer has a version");
  return version;
}

/** Returns the text of an answer's last message. */
export function getLastText(node: AnswerNode): string {
  const { output } = getLastVersion(node);
  const message = output.findLast(({ type }) => type === "message");
  if (message?.type !== "message") return "";
  return message.block_list.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** Returns the URL of the image or audio of an answer. */
export function getMediaUrl(node: AnswerNode): string {
  for (const item of getLastVersion(node).output)
    for (const block of item.type === "message" ? item.block_list : []) {
      if (block.type === "image") return block.image_url.url;
      if (block.type === "audio") return block.audio_url.url;
    }
  throw new Error(`the answer has no media: ${JSON.stringify(getLastVersion(node))}`);
}
