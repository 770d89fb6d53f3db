import { createChatClient } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { chatChoices } from "../src/chats/choices.ts";
import { answersOf, whenSettled } from "./chat-scene.ts";
import { read } from "./reading-config.ts";
import { upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream } from "./scene.ts";
import { says } from "./scripted-upstream.ts";

/* Who answers in a chat that names neither a model nor an agent. */

const away = "http://127.0.0.1:9/v1";
const listed = { models: ["text-embedding-3-small", "dall-e-3", "talker", "other"] };

test.each([
  [
    "the model of [chats]",
    `[chats]\nmodel = "up/other"\n${upstreamToml("up", away, listed)}`,
    "up/other",
  ],
  ["a model of [models]", `${upstreamToml("up", away, listed)}[models]\nmine = "up/other"`, "mine"],
  ["the first chat model of an upstream", upstreamToml("up", away, listed), "up/talker"],
  [
    "that of the second upstream, where the first lists none",
    upstreamToml("silent", away) + upstreamToml("up", away, listed),
    "up/talker",
  ],
  ["nobody", upstreamToml("silent", away), undefined],
])("the default is %s", (_what, toml, model) => {
  expect(chatChoices(read(toml), new Map()).defaults.model).toBe(model);
});

test("a discovered model that its upstream calls no chat model is not the default", () => {
  const models = [{ id: "scorer", chats: false }, { id: "talker" }];
  const { defaults } = chatChoices(read(upstreamToml("up", away)), new Map([["up", models]]));
  expect(defaults.model).toBe("up/talker");
});

test("an upstream that lists its models late does not take the place of the default", () => {
  const config = read(upstreamToml("late", away) + upstreamToml("up", away));
  const defaultWith = (lists: Record<string, string[]>) => {
    const known = Object.entries(lists).map(
      ([name, ids]) => [name, ids.map((id) => ({ id }))] as const,
    );
    return chatChoices(config, new Map(known)).defaults.model;
  };
  expect(defaultWith({ up: ["talker"] })).toBe("up/talker");
  expect(defaultWith({ late: ["first"], up: ["new", "talker"] })).toBe("up/talker");
  expect(defaultWith({ late: ["first"], up: ["new"] })).toBe("late/first");
});

test("the first message waits for the list of models, and its first model answers", async () => {
  let list = (): void => undefined;
  const isAsked = Promise.withResolvers<void>();
  const upstream = await anUpstream((_request, response) => says(response, "Hello."), {
    listModels(response) {
      list = () => void response.end('{"object":"list","data":[{"id":"only","object":"model"}]}');
      isAsked.resolve();
    },
  });
  const gateway = await aGateway(
    `[server]\nport = 0\n[chats]\ntitles = false\n${upstreamToml("local", upstream.url)}`,
  );
  const client = createChatClient({ base: gateway.url, fetch });
  await isAsked.promise;
  const { chat } = await client.create({});
  const sent = client.send(chat.chat_id, { text: "Hello" });
  list();
  await sent;
  const settled = await whenSettled(client, chat.chat_id);
  expect(answersOf(settled.chat)).toMatchObject([{ status: "completed", model: "local/only" }]);
  expect(upstream.requests.map(({ body }) => body["model"])).toEqual(["only"]);
  expect((await client.choices()).defaults.model).toBe("local/only");
});

test.each([
  ["a listed model", upstreamToml("up", away, listed), "up/talker"],
  ["the demo, where others list none,", upstreamToml("silent", away), "demo/clean"],
])("%s is the default beside the demo", async (_what, toml, model) => {
  const gateway = await aGateway(`[server]\nport = 0\ndemo = true\n${toml}`);
  const client = createChatClient({ base: gateway.url, fetch });
  expect((await client.choices()).defaults.model).toBe(model);
});
