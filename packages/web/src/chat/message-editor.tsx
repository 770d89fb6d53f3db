import type { Attachment, UserNode, UserVersion } from "@deltawire/tasks/chats";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Tag } from "../parts/signs.tsx";
import type { EditHow, MessageEdit } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";
import { InPlaceEditor, useEdit } from "./in-place-editor.tsx";
import { useThread } from "./thread.ts";
import { chatWords } from "./words.ts";

/** A message in other words: sent as a branch, unless somebody wants it in place of the message, or only changed. */
export function MessageEditor({ node, version }: { node: UserNode; version: UserVersion }) {
  const words = useWords(chatWords);
  const { hintEnter, hintMod } = useWords(composerWords);
  const sendKey = usePicked(usePage().preferences, (preferences) => preferences.sendKey);
  const { chat } = useThread();
  const { edit, keep, isBusy } = useEdit(node.node_id);
  const attachments = edit?.attachments ?? version.attachments;
  const saveAs = (how: EditHow) => (written: MessageEdit) =>
    chat.editMessage(node.node_id, written, how);
  return (
    <InPlaceEditor
      nodeId={node.node_id}
      label={words.editMessageLabel}
      text={version.text}
      mayBeEmpty={attachments.length > 0}
      onSend={saveAs({ as: "branch", send: true })}
      sendKey={sendKey}
      keysHint={sendKey === "enter" ? hintEnter : hintMod}
      sendLabel={words.sendBranch}
      sendHint={words.sendBranchHint}
      beside={
        <Kept
          attachments={attachments}
          isBusy={isBusy}
          onChange={(left) => keep({ text: edit?.text ?? version.text, attachments: left })}
        />
      }
      renderOthers={(run) => (
        <>
          <Button
            small
            disabled={isBusy}
            title={words.sendVersionHint}
            onClick={() => run(saveAs({ as: "version", send: true }))}
          >
            {words.sendVersion}
          </Button>
          <Button
            small
            disabled={isBusy}
            title={words.onlyChangeHint}
            onClick={() => run(saveAs({ as: "version", send: false }))}
          >
            {words.onlyChange}
          </Button>
        </>
      )}
    />
  );
}

function Kept({
  attachments,
  isBusy,
  onChange,
}: {
  attachments: readonly Attachment[];
  isBusy: boolean;
  onChange: (attachments: readonly Attachment[]) => void;
}) {
  const words = useWords(chatWords);
  if (attachments.length === 0) return null;
  return (
    <div className="chat-kept">
      {attachments.map((attachment) => {
        const name = attachment.filename ?? words[attachment.kind];
        return (
          <Tag key={attachment.url}>
            <span dir="auto">{name}</span>
            <IconButton
              icon="close"
              small
              label={words.leaveOut(name)}
              disabled={isBusy}
              onClick={() => onChange(attachments.filter((each) => each !== attachment))}
            />
          </Tag>
        );
      })}
    </div>
  );
}
