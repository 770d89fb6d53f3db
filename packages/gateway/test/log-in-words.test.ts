import { expect, test } from "vitest";
import { createLog, logRound } from "../src/log.ts";
import { Redactor } from "@deltawire/agent";

test.each(["task_1", "chat_1"])("a person at a terminal is told that a round was for %s", (id) => {
  let said = "";
  const log = createLog("info", { write: (line) => (said += line), isTTY: true }, new Redactor([]));
  const record = { attempts: 1, lessons: [], repairs: new Map() };
  logRound(log, { for: id, model: "m", ms: 1200, left: false, failure: undefined, record });
  expect(said).toMatch(new RegExp(`^[\\d:]{8}  round  ${id}  m  1\\.2 s\\n$`));
});
