import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test, type ExpectStatic } from "vitest";
import { createAgentFixture, type AgentFixture } from "./agent-fixture.ts";
import { findLimit, type Agent } from "./agent.ts";
import { describeAgent, selectAgents } from "./agents.ts";
import {
  buildAnswer,
  buildPrompt,
  buildRecallPrompt,
  listCalls,
  planReply,
  sceneNames,
  type SceneName,
} from "./model/scenes.ts";
import { findReplyFaults } from "./reply-faults.ts";
import { readSelection } from "./selection.ts";
import type { TableCell } from "./table.ts";
import { wires } from "./wires.ts";

declare module "vitest" {
  interface TaskMeta {
    cell?: TableCell;
  }
}

describe.concurrent.each(
  selectAgents(readSelection()).map((agent) => ({ agent, name: describeAgent(agent) })),
)("$name,", ({ agent, name }) => {
  describe.each(wires)("on a %s upstream,", (upstream) => {
    const played = sceneNames.filter(
      (scene) => findLimit(agent, upstream, scene)?.kind !== "unsupported",
    );
    test.for(played)("scene %s", async (scene, { expect, task, onTestFailed, onTestFinished }) => {
      task.meta.cell = { agent: name, upstream, scene };
      const fixture = await createAgentFixture(agent, upstream, (wire, conversation) =>
        planReply(wire, conversation, {
          isReasoningRequired: findLimit(agent, upstream, scene)?.kind !== "loses-reasoning",
        }),
      );
      onTestFinished(() => fixture.close());
      onTestFailed(async () => {
        const file = await fixture.saveTraffic(`${name} ${upstream} ${scene}`);
        process.stderr.write(`What was sent is in ${file}\n`);
      });
      const mark = randomBytes(4).toString("hex");
      await (scene === "cancel"
        ? playCanceledScene(fixture, mark, expect)
        : playScene(agent, fixture, scene, mark, expect));
      expect(fixture.model.faults).toEqual([]);
      expect(await findReplyFaults(fixture.proxy.exchanges, upstream)).toEqual([]);
    });
  });
});

async function playScene(
  agent: Agent,
  fixture: AgentFixture,
  scene: SceneName,
  mark: string,
  expect: ExpectStatic,
): Promise<void> {
  const prompts = [buildPrompt(scene, mark)];
  if (scene === "resume") prompts.push(buildRecallPrompt(mark));
  for (const [index, prompt] of prompts.entries()) {
    const { ended } = await fixture.start(prompt, index > 0);
    const { stdout, stderr, exitCode, outside } = await ended;
    expect(stdout, stderr).toContain(buildAnswer(mark));
    expect(exitCode).toBe(0);
    expect(outside.filter((host) => !host.includes(agent.outsideHost ?? "\n"))).toEqual([]);
  }
  // Parallel calls may run in any order.
  expect((await fixture.readRanCommands()).toSorted()).toEqual(
    listCalls(scene, mark).flatMap((calls) => calls.map(({ id }) => id)),
  );
  const errors = fixture.model.statuses.filter((status) => status !== 200);
  expect(errors).toEqual(scene === "error" ? [429, 503] : []);
}

/** The time within which the upstream must be free after the agent was interrupted. */
const cancelTimeoutMs = 1000;

async function playCanceledScene(
  { model, proxy, ...fixture }: AgentFixture,
  mark: string,
  expect: ExpectStatic,
): Promise<void> {
  const agent = await fixture.start(buildPrompt("cancel", mark));
  const hasStarted = () =>
    proxy.exchanges.some(({ replyText }) => replyText.split("Slow").length > 3);
  await expect.poll(hasStarted, { interval: 20, timeout: 30_000 }).toBe(true);
  expect(model.openCount()).toBe(1);
  const interruptedAt = performance.now();
  agent.interrupt();
  while (model.openCount() > 0 && performance.now() - interruptedAt < 10_000) await sleep(5);
  expect(performance.now() - interruptedAt).toBeLessThan(cancelTimeoutMs);
  // It may ask for nothing else.
  const requestCount = model.requests.length;
  await agent.ended;
  expect(model.requests.length).toBe(requestCount);
}
