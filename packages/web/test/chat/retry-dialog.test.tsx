import type { ReactNode } from "react";
import { expect, test } from "vitest";
import { createCell } from "../../src/cell.ts";
import { RetryDialog } from "../../src/chat/retry-dialog.tsx";
import { createThread } from "../../src/chat/thread.ts";
import { AppStoreContext, useAppStore } from "../../src/hooks/use-app-store.ts";
import type { OpenChatState } from "../../src/state/app-store.ts";
import { renderMarkup } from "../answer/render.tsx";
import { completedAnswer, buildChat } from "./chat-fixture.ts";
import { createChatChoices } from "./choices-fixture.ts";

test("the retry dialog initially selects the chat's own model, not the gateway's default", () => {
  const chat = buildChat(
    { type: "add_message", parent: null, message: { text: "Hello" } },
    { type: "add_answer", parent: "node_1", answer: completedAnswer },
    { type: "settings", patch: { model: "demo/painter" } },
  );
  const state: OpenChatState = {
    status: "ready",
    chat,
    stamp: 0,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    deletedAt: undefined,
  };
  expect(renderMarkup(<OpenRetryDialog state={state} />)).toContain("Answer with: demo/painter");
});

function OpenRetryDialog({ state }: { state: OpenChatState }): ReactNode {
  const app = useAppStore();
  const thread = createThread({ ...app.openChat("chat_1"), state: createCell(state) });
  thread.retryDialogNodeId.set("node_2");
  return (
    <AppStoreContext value={{ ...app, choices: createCell(createChatChoices()) }}>
      <RetryDialog thread={thread} />
    </AppStoreContext>
  );
}
