import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import { AnswerBody } from "../../src/answer/answer-body.tsx";
import { AnswerContext } from "../../src/answer/answer-context.ts";
import { AppStoreContext } from "../../src/hooks/use-app-store.ts";
import { createLazyMountScope, LazyMountContext } from "../../src/ui/lazy-mount.tsx";
import type { AppStore } from "../../src/state/app-store.ts";
import { LanguageContext } from "../../src/messages/use-messages.ts";
import type { Language } from "../../src/messages/define-messages.ts";
import { openTestApp } from "../node-environment.ts";
import { createAnswerNode } from "./answer-fixtures.ts";

/** Renders a node inside an answer to static HTML. The app store has no gateway. */
export function renderMarkup(node: ReactNode, language: Language = "en"): string {
  return renderInApp(openTestApp(unreachableUrl), node, language);
}

/** Renders a stored answer to static HTML. `isContinued`: a later version continues it. */
export function renderAnswer(
  version: AnswerVersion,
  language: Language = "en",
  isContinued = false,
): string {
  const app = openTestApp(unreachableUrl);
  const chat = app.openChat("chat_1");
  const answer = (
    <AnswerBody
      chat={chat}
      node={createAnswerNode(version)}
      version={version}
      isContinued={isContinued}
    />
  );
  return renderInApp(app, answer, language);
}

const unreachableUrl = "http://127.0.0.1:1";

function renderInApp(app: AppStore, node: ReactNode, language: Language): string {
  const context = {
    chat: app.openChat("chat_1"),
    rootTaskId: "task_1",
    nodeId: "node_1",
    versionId: "version_1",
    isContinued: false,
  };
  return renderToStaticMarkup(
    <AppStoreContext value={app}>
      <LanguageContext value={language}>
        <LazyMountContext value={createLazyMountScope()}>
          <AnswerContext value={context}>{node}</AnswerContext>
        </LazyMountContext>
      </LanguageContext>
    </AppStoreContext>,
  );
}

/** Returns the visible text of HTML: without tags, and with single spaces. */
export function toVisibleText(markup: string): string {
  return markup
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .trim();
}
