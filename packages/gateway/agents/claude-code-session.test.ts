import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFailed, onTestFinished, test } from "vitest";
import { createAgentFixture, type AgentFixture } from "./agent-fixture.ts";
import { describeAgent, selectAgents } from "./agents.ts";
import {
  buildTurnAnswer,
  buildTurnPrompt,
  createSessionModel,
  listSessionCommands,
  sessionTurns,
} from "./model/session.ts";
import { findReplyFaults } from "./reply-faults.ts";
import { readSelection } from "./selection.ts";

// Older versions end the turn if a stream is cut off.
const agents = selectAgents(readSelection()).filter(
  ({ name, isLong }) => name === "claude-code" && isLong !== true,
);

test.for(agents.map((agent) => ({ agent, name: describeAgent(agent) })))(
  "$name works for twenty turns on a Chat upstream, each in a new process, and runs every command once",
  { timeout: 600_000 },
  async ({ agent }) => {
    const mark = randomBytes(4).toString("hex");
    const session = createSessionModel(() => fixture.place.cwd);
    const fixture = await createAgentFixture(agent, "chat", (_wire, conversation) =>
      session.planReply(conversation),
    );
    onTestFinished(() => fixture.close());
    onTestFailed(async () => {
      const file = await fixture.saveTraffic("claude-code-session");
      process.stderr.write(`What was sent is in ${file}\n`);
    });
    for (const [index, { paceMs }] of sessionTurns.entries())
      await (paceMs === undefined
        ? playTurn(fixture, index + 1, mark)
        : interruptTurn(fixture, index + 1, mark));
    expect((await fixture.readRanCommands()).toSorted()).toEqual(
      listSessionCommands(mark).toSorted(),
    );
    expect(await readFile(join(fixture.place.cwd, "notes.txt"), "utf8")).toBe("gamma\n");
    expect(session.summaryCount()).toBeGreaterThanOrEqual(2);
    expect(fixture.model.faults).toEqual([]);
    expect(await findReplyFaults(fixture.proxy.exchanges, "chat")).toEqual([]);
  },
);

async function playTurn(fixture: AgentFixture, turn: number, mark: string): Promise<void> {
  const claude = await fixture.start(buildTurnPrompt(turn, mark), turn > 1);
  const { stdout, stderr, exitCode, outside } = await claude.ended;
  const what = `turn ${turn}, which ${sessionTurns[turn - 1]?.title}: ${stderr}`;
  expect(stdout, what).toContain(buildTurnAnswer(turn, mark));
  expect({ exitCode, outside }, what).toEqual({ exitCode: 0, outside: [] });
}

async function interruptTurn(fixture: AgentFixture, turn: number, mark: string): Promise<void> {
  const { model, proxy } = fixture;
  const claude = await fixture.start(buildTurnPrompt(turn, mark), turn > 1);
  const hasStarted = () => proxy.exchanges.at(-1)?.replyText.includes("Slow") === true;
  await expect.poll(hasStarted, { interval: 20, timeout: 60_000 }).toBe(true);
  claude.interrupt();
  await expect.poll(() => model.openCount(), { interval: 20, timeout: 1000 }).toBe(0);
  await claude.ended;
}
