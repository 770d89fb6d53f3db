import { expect, test } from "vitest";
import { waitForAnswers } from "./chat-actions.ts";
import { sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* Notices about unsupported options and reached limits. */

const fixture = setupBrowserFixture({
  toml: '[upstreams.lab.flags]\ndropped_parameters = ["enable_thinking"]\n',
});

test("an unsupported option is named below the answer, and the others are sent", async () => {
  const options = { enable_thinking: true, top_k: 20, chat_template_kwargs: { a: 1 } };
  const hash = await fixture.createChat({ model: "lab/clean", options });
  const tab = await (await fixture.newUser()).tab(hash);
  await sendMessage(tab, "Good evening");
  const answer = await waitForAnswers(tab, 1);
  await answer.getByRole("button", { name: /^1 note/ }).click();
  await answer
    .getByText("enable_thinking is not supported by lab/clean and was not sent")
    .waitFor();
  await takeScreenshot(tab, "options-left-out");
  const bodies = fixture.requests.map(({ body }) => JSON.stringify(body ?? null));
  const sent = bodies.find((body) => body.includes("Good evening")) ?? "";
  expect(sent).toContain('"top_k":20');
  expect(sent).toContain('"chat_template_kwargs":{"a":1}');
  expect(sent).not.toContain("enable_thinking");
});

test("notices are in the language of the page", async () => {
  const options = { enable_thinking: true };
  const hash = await fixture.createChat({ model: "lab/clean", options });
  await fetch(`${fixture.gateway.url}/api/chats/${hash.split("/").at(-1)}/send`, {
    method: "POST",
    body: JSON.stringify({ text: "Good evening" }),
  });
  const tab = await (await fixture.newUser({ locale: "zh-CN" })).tab(hash);
  await tab.getByRole("button", { name: "1 条说明" }).click();
  await tab.getByText("lab/clean 不支持 enable_thinking，未发送。").waitFor();
  await takeScreenshot(tab, "options-left-out-chinese");
});

test("an answer that has used all of its tool rounds says so and has run their calls", async () => {
  const hash = await fixture.createChat({ agent: "demo-agent", limits: { rounds: 1 } });
  const tab = await (await fixture.newUser()).tab(hash);
  await sendMessage(tab, "get_weather of Paris in 5 steps");
  const answer = await waitForAnswers(tab, 1);
  await answer.getByRole("button", { name: /^get_weather .*Done/ }).waitFor();
  expect(await answer.getByRole("button", { name: /^get_weather/ }).count()).toBe(1);
  await answer.getByRole("button", { name: /^1 note/ }).click();
  await answer.getByText("The round limit of 1 was reached").waitFor();
  await takeScreenshot(tab, "rounds-reached");
});
