import { writeSync } from "node:fs";
import { openStore, StoreError } from "@deltawire/store";
import { ChatStage } from "../contract/chat-scenario.ts";
import { created, warnings } from "./sample-events.ts";

/*
 * A process of its own with a store. `node store-process.ts PATH hold|open|append|chat|fill|read`. A line is printed at once, so
 * that it is out before the process can be killed.
 */

const [path = "", what = ""] = process.argv.slice(2);

becomeUser(process.env["STORE_PROCESS_UID"]);

try {
  await run();
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  print({ code: error.code, message: error.message });
}

async function run(): Promise<void> {
  const told: string[] = [];
  const onWarning = (message: string) => told.push(message);
  const store = await openStore({ path, timeoutMs: 100, onWarning });
  switch (what) {
    case "hold": // until its input ends
      print({ pid: process.pid });
      for await (const _ of process.stdin);
      return store.close();
    case "append": // three tasks at once for ever, batches of 1 to 40 events, every second one durable
      await Promise.all(["a", "b", "c"].map((task, at) => appendForEver(task, at)));
      return;
    case "chat": {
      // messages for ever; the stamp of each save is printed
      const stage = new ChatStage(store);
      let kept = await stage.create("endless");
      for (let at = 1; ; at += 1) {
        kept = await stage.saved(kept, stage.said(kept.chat, `message${at}`));
        print(`${kept.stamp}`);
      }
    }
    case "fill": {
      // until there is no room, then read, then once more
      await store.append("t", [created("t")], { durable: true });
      let next = 1;
      try {
        for (;;) {
          const batch = warnings("t", next, 10, "x".repeat(1000));
          await store.append("t", batch, { durable: next % 20 === 1 });
          next += 10;
        }
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        print({ code: error.code, message: error.message, kept: next });
      }
      print({ rows: (await store.read("t", -1, 1_000_000)).length });
      const again = await store
        .append("t", warnings("t", next, 10, "x".repeat(100_000)), {
          durable: true,
        })
        .then(
          () => "kept",
          (error: StoreError) => error.code,
        );
      print({ again, rows: (await store.read("t", -1, 1_000_000)).length });
      const blob = await store.put(new Uint8Array(5_000_000), "image/png").catch((error) => error);
      print({ blob: blob instanceof StoreError ? blob.code : blob });
      return store.close();
    }
    case "read": {
      const rows = (await store.read("t", -1, 1000)).length;
      const write = await store.append("u", [created("u")], { durable: true }).then(
        () => "kept",
        (error: StoreError) => error,
      );
      print({
        readOnly: store.readOnly,
        rows,
        told,
        write: write instanceof StoreError ? { code: write.code, message: write.message } : write,
      });
      return store.close();
    }
    default:
      print({ opened: true });
      return store.close();
  }

  async function appendForEver(task: string, at: number): Promise<void> {
    await store.append(task, [created(task)], { durable: true });
    for (let next = 1, round = at; ; round += 1) {
      const size = 1 + ((round * 7) % 40);
      await store.append(task, warnings(task, next, size, `${next}+${size}`), {
        durable: round % 2 === 0,
      });
      next += size;
      print(`${task} ${next - 1}`);
    }
  }
}

function becomeUser(uid: string | undefined): void {
  if (uid === undefined) return;
  process.setgroups?.([]);
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}

function print(line: object | string): void {
  writeSync(1, `${typeof line === "string" ? line : JSON.stringify(line)}\n`);
}
