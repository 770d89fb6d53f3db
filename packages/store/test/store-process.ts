import { writeSync } from "node:fs";
import { openStore, StoreError } from "@deltawire/store";
import { ChatBuilder } from "../contract/chat-builder.ts";
import { taskCreatedEntry, warningEntries } from "./sample-events.ts";

/*
 * A program that uses a store in its own process: `node store-process.ts PATH hold|open|append|chat|fill|read`. It writes
 * its output synchronously, so that a later kill cannot lose any of it.
 */

const [path = "", command = ""] = process.argv.slice(2);

switchUser(process.env["STORE_PROCESS_UID"]);

try {
  await run();
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  print({ code: error.code, message: error.message });
}

async function run(): Promise<void> {
  const warningMessages: string[] = [];
  const onWarning = (message: string) => warningMessages.push(message);
  const store = await openStore({ path, timeoutMs: 100, onWarning });
  switch (command) {
    case "hold": // keeps the store open until standard input ends
      print({ pid: process.pid });
      for await (const _ of process.stdin);
      return store.close();
    case "append": // appends batches of 1 to 40 events to three tasks until it is killed; every other batch is durable
      await Promise.all(["a", "b", "c"].map((task, index) => appendForever(task, index)));
      return;
    case "chat": {
      // Adds messages until it is killed, and prints the stamp of each save.
      const builder = new ChatBuilder(store);
      let stored = await builder.create("endless");
      for (let position = 1; ; position += 1) {
        stored = await builder.saveChat(stored, builder.addText(stored.chat, `message${position}`));
        print(`${stored.stamp}`);
      }
    }
    case "fill": {
      // Appends until the file cannot grow, then reads everything, and retries.
      await store.append("t", [taskCreatedEntry("t")], { durable: true });
      let next = 1;
      try {
        for (;;) {
          const batch = warningEntries("t", next, 10, "x".repeat(1000));
          await store.append("t", batch, { durable: next % 20 === 1 });
          next += 10;
        }
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        print({ code: error.code, message: error.message, stored: next });
      }
      print({ rows: (await store.read("t", -1, 1_000_000)).length });
      const retryResult = await store
        .append("t", warningEntries("t", next, 10, "x".repeat(100_000)), {
          durable: true,
        })
        .then(
          () => "stored",
          (error: StoreError) => error.code,
        );
      print({ retry: retryResult, rows: (await store.read("t", -1, 1_000_000)).length });
      const blob = await store.put(new Uint8Array(5_000_000), "image/png").catch((error) => error);
      print({ blob: blob instanceof StoreError ? blob.code : blob });
      return store.close();
    }
    case "read": {
      const rows = (await store.read("t", -1, 1000)).length;
      const write = await store.append("u", [taskCreatedEntry("u")], { durable: true }).then(
        () => "stored",
        (error: StoreError) => error,
      );
      print({
        readOnly: store.readOnly,
        rows,
        warnings: warningMessages,
        write: write instanceof StoreError ? { code: write.code, message: write.message } : write,
      });
      return store.close();
    }
    default:
      print({ opened: true });
      return store.close();
  }

  async function appendForever(task: string, index: number): Promise<void> {
    await store.append(task, [taskCreatedEntry(task)], { durable: true });
    for (let next = 1, round = index; ; round += 1) {
      const size = 1 + ((round * 7) % 40);
      await store.append(task, warningEntries(task, next, size, `${next}+${size}`), {
        durable: round % 2 === 0,
      });
      next += size;
      print(`${task} ${next - 1}`);
    }
  }
}

function switchUser(uid: string | undefined): void {
  if (uid === undefined) return;
  process.setgroups?.([]);
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}

function print(line: object | string): void {
  writeSync(1, `${typeof line === "string" ? line : JSON.stringify(line)}\n`);
}
