import { expect, test } from "vitest";
import { createLog, logModelRound } from "../src/log.ts";
import { Redactor } from "@deltawire/agent";

test.each(["task_1", "chat_1"])(
  "a log line on a terminal names the task or chat of a round: %s",
  (id) => {
    let output = "";
    const log = createLog(
      "info",
      { write: (line) => (output += line), isTTY: true },
      new Redactor([]),
    );
    const record = { attempts: 1, lessons: [], repairs: new Map() };
    logModelRound(log, {
      ownerId: id,
      model: "m",
      ms: 1200,
      clientDisconnected: false,
      failure: undefined,
      record,
    });
    expect(output).toMatch(new RegExp(`^[\\d:]{8}  round  ${id}  m  1\\.2 s\\n$`));
  },
);

test("a model name with control characters cannot forge a line on a terminal", () => {
  let output = "";
  const target = { write: (line: string) => Boolean((output += line)), isTTY: true };
  logModelRound(createLog("info", target, new Redactor([])), {
    ownerId: "task_1",
    model: "m\n00:00:00  200  /v1\u001B[2J",
    ms: 1200,
    clientDisconnected: false,
    failure: undefined,
    record: { attempts: 1, lessons: [], repairs: new Map() },
  });
  expect(output.trimEnd()).not.toMatch(/\p{Cc}/u);
  expect(output).toContain("m\\n00:00:00  200  /v1\\u001b[2J");
});

test("lost log lines are counted until their number is written", () => {
  const lines: string[] = [];
  let isWritable = true;
  const target = {
    write: (line: string) => {
      if (isWritable) lines.push(line);
      return isWritable;
    },
  };
  const log = createLog("info", target, new Redactor([]));
  isWritable = false;
  for (let count = 0; count < 3; count += 1) log.info("lost");
  // The next line can be written, but the report about the lost ones cannot.
  const { write } = target;
  let calls = 0;
  target.write = (line) => {
    calls += 1;
    isWritable = calls !== 2;
    return write(line);
  };
  log.info("first");
  target.write = write;
  isWritable = true;
  log.info("second");
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    "first",
    "second",
    "log lines were lost because they could not be written",
  ]);
  expect(lines.at(-1)).toContain('"lines":4');
});
