import { createChatClient } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { buildChatChoices } from "../src/chats/chat-choices.ts";
import { listAnswers, waitUntilSettled } from "./chat-fixture.ts";
import { parseToml } from "./config-fixture.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testGateway, testUpstream } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

/* The responder of chats without a model or agent. */

const unreachableUrl = "http://127.0.0.1:9/v1";
const listed = { models: ["text-embedding-3-small", "dall-e-3", "talker", "other"] };

test.each([
  [
    "the model of [chats]",
    `[chats]\nmodel = "up/other"\n${upstreamToml("up", unreachableUrl, listed)}`,
    "up/other",
  ],
  [
    "a model of [models]",
    `${upstreamToml("up", unreachableUrl, listed)}[models]\nmine = "up/other"`,
    "mine",
  ],
  ["the first chat model of an upstream", upstreamToml("up", unreachableUrl, listed), "up/talker"],
  [
    "the first chat model of the second upstream if the first lists none",
    upstreamToml("silent", unreachableUrl) + upstreamToml("up", unreachableUrl, listed),
    "up/talker",
  ],
  ["undefined if no model is listed", upstreamToml("silent", unreachableUrl), undefined],
])("the default model of a chat is %s", (_what, toml, model) => {
  expect(buildChatChoices(parseToml(toml), new Map()).defaults.model).toBe(model);
});

test("a discovered model that its upstream marks as not a chat model is not the default", () => {
  const models = [{ id: "scorer", isChatModel: false }, { id: "talker" }];
  const { defaults } = buildChatChoices(
    parseToml(upstreamToml("up", unreachableUrl)),
    new Map([["up", models]]),
  );
  expect(defaults.model).toBe("up/talker");
});

test("an upstream that lists its models late does not replace the default", () => {
  const config = parseToml(
    upstreamToml("late", unreachableUrl) + upstreamToml("up", unreachableUrl),
  );
  const findDefault = (lists: Record<string, string[]>) => {
    const known = Object.entries(lists).map(
      ([name, ids]) => [name, ids.map((id) => ({ id }))] as const,
    );
    return buildChatChoices(config, new Map(known)).defaults.model;
  };
  expect(findDefault({ up: ["talker"] })).toBe("up/talker");
  expect(findDefault({ late: ["first"], up: ["new", "talker"] })).toBe("up/talker");
  expect(findDefault({ late: ["first"], up: ["new"] })).toBe("late/first");
});

test("the first message waits for the model list, and its first model answers", async () => {
  let sendModelList = (): void => undefined;
  const listRequested = Promise.withResolvers<void>();
  const upstream = await testUpstream((_request, response) => streamText(response, "Hello."), {
    listModels(response) {
      sendModelList = () =>
        void response.end('{"object":"list","data":[{"id":"only","object":"model"}]}');
      listRequested.resolve();
    },
  });
  const gateway = await testGateway(
    `[server]\nport = 0\n[chats]\ntitles = false\n${upstreamToml("local", upstream.url)}`,
  );
  const client = createChatClient({ baseUrl: gateway.url, fetch });
  await listRequested.promise;
  const { chat } = await client.create({});
  const sent = client.send(chat.chat_id, { text: "Hello" });
  sendModelList();
  await sent;
  const settled = await waitUntilSettled(client, chat.chat_id);
  expect(listAnswers(settled.chat)).toMatchObject([{ status: "completed", model: "local/only" }]);
  expect(upstream.requests.map(({ body }) => body["model"])).toEqual(["only"]);
  expect((await client.choices()).defaults.model).toBe("local/only");
});

test.each([
  ["a listed model", upstreamToml("up", unreachableUrl, listed), "up/talker"],
  [
    "a demo model if no upstream lists models",
    upstreamToml("silent", unreachableUrl),
    "demo/clean",
  ],
])("with the demo enabled, the default model is %s", async (_what, toml, model) => {
  const gateway = await testGateway(`[server]\nport = 0\ndemo = true\n${toml}`);
  const client = createChatClient({ baseUrl: gateway.url, fetch });
  expect((await client.choices()).defaults.model).toBe(model);
});
