import { expect, test } from "vitest";
import { endedAnswers } from "./in-chat.ts";
import { say, staged, takePicture } from "./stage.ts";

/* What people see of options that a server does not take, and of a limit that was reached. */

const stage = staged({
  toml: '[upstreams.lab.flags]\ndropped_parameters = ["enable_thinking"]\n',
});

test("an option that the server does not take is named below the answer, and all others are sent", async () => {
  const options = { enable_thinking: true, top_k: 20, chat_template_kwargs: { a: 1 } };
  const hash = await stage.chat({ model: "lab/clean", options });
  const tab = await (await stage.person()).tab(hash);
  await say(tab, "Good evening");
  const answer = await endedAnswers(tab, 1);
  await answer.getByRole("button", { name: /^1 note/ }).click();
  await answer.getByText("enable_thinking is not taken by lab/clean: left out").waitFor();
  await takePicture(tab, "options-left-out");
  const bodies = stage.requests.map(({ body }) => JSON.stringify(body ?? null));
  const sent = bodies.find((body) => body.includes("Good evening")) ?? "";
  expect(sent).toContain('"top_k":20');
  expect(sent).toContain('"chat_template_kwargs":{"a":1}');
  expect(sent).not.toContain("enable_thinking");
});

test("notices are in the language of the page", async () => {
  const options = { enable_thinking: true };
  const hash = await stage.chat({ model: "lab/clean", options });
  await fetch(`${stage.gateway.url}/api/chats/${hash.split("/").at(-1)}/send`, {
    method: "POST",
    body: JSON.stringify({ text: "Good evening" }),
  });
  const tab = await (await stage.person({ locale: "zh-CN" })).tab(hash);
  await tab.getByRole("button", { name: "1 条说明" }).click();
  await tab.getByText("lab/clean 不接受 enable_thinking，已略去。").waitFor();
  await takePicture(tab, "options-left-out-chinese");
});

test("an answer that used all of its rounds says so, and has run the tools of each", async () => {
  const hash = await stage.chat({ agent: "demo-agent", limits: { rounds: 1 } });
  const tab = await (await stage.person()).tab(hash);
  await say(tab, "get_weather of Paris in 5 steps");
  const answer = await endedAnswers(tab, 1);
  await answer.getByRole("button", { name: /^get_weather .*Done/ }).waitFor();
  expect(await answer.getByRole("button", { name: /^get_weather/ }).count()).toBe(1);
  await answer.getByRole("button", { name: /^1 note/ }).click();
  await answer.getByText("the limit of 1 round is reached").waitFor();
  await takePicture(tab, "rounds-reached");
});
