import type { AnswerNode, AnswerVersion, UserNode, UserVersion } from "@deltawire/tasks/chats";
import { AnswerBody } from "../answer/answer-body.tsx";
import {
  summarizeAnswerUsage,
  toAnswerState,
  statusKindByAnswerState,
} from "../chat/answer-summary.ts";
import { toUsageRows } from "../chat/answer-usage.tsx";
import { chatViewMessages } from "../chat/messages.ts";
import { StatusBadge } from "../ui/indicators.tsx";
import type { OpenChat } from "../state/app-store.ts";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { treeMessages } from "./messages.ts";

interface VersionProps {
  node: UserNode | AnswerNode;
  version: UserVersion | AnswerVersion;
}

/** The complete text of a version. */
export function VersionBody({ chat, node, version }: VersionProps & { chat: OpenChat }) {
  const t = useMessages(treeMessages);
  if (node.kind === "answer" && "output" in version)
    return <AnswerBody chat={chat} node={node} version={version} />;
  if ("output" in version) return null;
  const attachmentNames = [
    ...version.contexts.map(({ title }) => title),
    ...version.attachments.map(({ filename, kind }) => filename ?? kind),
  ];
  return (
    <>
      <div className="plain-text" dir="auto">
        {version.text === "" ? t.noText : version.text}
      </div>
      {attachmentNames.length > 0 && (
        <p className="muted" dir="auto">
          {t.attachments}: {attachmentNames.join(", ")}
        </p>
      )}
    </>
  );
}

interface VersionDetailsProps extends Pick<VersionProps, "version"> {
  /** If true, rows without a value are shown, too, so that both sides have the same rows. Default false. */
  isCompared?: boolean | undefined;
}

/** Author, time, usage and status of a version. */
export function VersionDetails({ version, isCompared = false }: VersionDetailsProps) {
  const t = useMessages(treeMessages);
  const chatMessages = useMessages(chatViewMessages);
  const format = useFormatter();
  const isAnswer = "output" in version;
  const toRows = (name: string, value: string | undefined) =>
    value === undefined && !isCompared ? [] : [{ name, value: value ?? "–", isPart: false }];
  const rows = [
    ...(isAnswer ? toRows(t.agent, version.agent) : []),
    ...(isAnswer ? toRows(t.model, version.model) : []),
    { name: t.time, value: format.dateTime(version.created_at), isPart: false },
    ...(isAnswer ? toUsageRows(summarizeAnswerUsage([version]), format, chatMessages) : []),
  ];
  return (
    <dl className="tree-version-details">
      {isAnswer && (
        <div>
          <dt>{t.status}</dt>
          <dd>
            <StatusBadge
              kind={statusKindByAnswerState[toAnswerState(version)]}
              label={chatMessages[toAnswerState(version)]}
            />
          </dd>
        </div>
      )}
      {rows.map(({ name, value, isPart }) => (
        <div key={name} data-sub-row={isPart || undefined}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
