"""Small conversations in the formats that the benchmarks read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["CHINESE", "FIXTURE", "LOCOMO", "LONGMEMEVAL", "NO_MODEL", "written_json"]

NO_MODEL = {"embedding.provider": "none"}


def written_json(folder: Path, name: str, data: Any) -> Path:
    """A file that holds the data."""
    path = folder / name
    path.write_text(json.dumps(data, ensure_ascii=False), "utf-8")
    return path


def _turn(session: int, place: int, speaker: str, text: str, caption: str = "") -> dict[str, Any]:
    said = {"dia_id": f"D{session}:{place}", "speaker": speaker, "text": text}
    return said | ({"blip_caption": caption} if caption else {})


LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                _turn(1, 1, "Ada", "I adopted a greyhound from the shelter yesterday."),
                _turn(1, 2, "Ben", "Lovely! What is its name?"),
                _turn(1, 3, "Ada", "Her name is Pepper."),
            ],
            "session_2_date_time": "12:09 am on 1 June, 2023",
            "session_2": [
                _turn(2, 1, "Ben", "I finished the marathon in Lisbon.", "a photo of a medal with a ribbon"),
                _turn(2, 2, "Ada", "Congratulations on the marathon!"),
                _turn(2, 3, "Ben", "My knees hurt, but the pastries were worth it."),
            ],
            "session_3_date_time": "9:00 am on 2 June, 2023",
        },
        "qa": [
            {"question": "Where did Ada get the greyhound?", "evidence": ["D1:1"], "category": 4},
            {"question": "What did Ben do in Lisbon?", "evidence": ["D2:1; D:2:3"], "category": 1},
            {"question": "Who won a medal with a ribbon?", "evidence": ["D2:01", "D"], "category": 3},
            {"question": "What is lost?", "evidence": ["D9:9"], "category": 2},
            {"question": "Who said nothing?", "category": 2},
            {"question": "What did Ada do in Lisbon?", "evidence": ["D2:1"], "category": 5},
        ],
    },
    {
        "sample_id": "conv-2",
        "conversation": {
            "session_1_date_time": "10:30 am on 3 March, 2022",
            "session_1": [
                _turn(1, 1, "Cleo", "The orchard gave us forty kilos of quinces."),
                _turn(1, 2, "Dan", "Quince jam for everybody, then."),
                _turn(1, 3, "Cleo", "And cider from the apples, like in Lisbon."),
                _turn(1, 4, "Dan", "I will bring the bottles."),
            ],
        },
        "qa": [{"question": "How many kilos of quinces were there?", "evidence": ["D1:1"], "category": 4}],
    },
]

_TALK = [
    {"role": "user", "content": "I bought a cello from a retired teacher in Ghent.", "has_answer": True},
    {"role": "assistant", "content": "A cello needs rosin and a humidifier. " * 60},
]
_OTHER = [
    {"role": "user", "content": "How do I descale a kettle?"},
    {"role": "assistant", "content": "Boil vinegar and water in the kettle, then rinse it."},
]
LONGMEMEVAL = [
    {
        "question_id": "q-cello",
        "question_type": "single-session-user",
        "question": "From which teacher is my cello?",
        "answer": "Ghent",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["later", "answer_1", "later"],
        "haystack_dates": ["2023/05/25 (Thu) 08:15", "2023/05/20 (Sat) 02:21", "2023/05/26 (Fri) 08:15"],
        "haystack_sessions": [_OTHER, _TALK, _OTHER],
        "answer_session_ids": ["answer_1", "answer_9"],
    },
    {
        "question_id": "q-violin_abs",
        "question_type": "single-session-user",
        "question": "Which zeppelin museum sells violins?",
        "answer": "You did not mention it.",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_session_ids": ["answer_2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [_OTHER],
        "answer_session_ids": ["answer_2"],
    },
]


def _messages(session: str, *lines: tuple[str, str, str]) -> list[dict[str, str]]:
    return [
        {"id": f"{session}m{n:02}", "speaker": speaker, "zh": zh, "en": en}
        for n, (speaker, zh, en) in enumerate(lines, 1)
    ]


CHINESE = {
    "id": "zh_tiny",
    "title_zh": "三次闲聊",
    "title_en": "Three chats",
    "licence": "Apache-2.0",
    "persons": [
        {"zh": "陆晴", "en": "Qing", "aliases_zh": [], "aliases_en": []},
        {"zh": "高远", "en": "Yuan", "aliases_zh": ["老高"], "aliases_en": []},
    ],
    "sessions": [
        {
            "id": "s01",
            "start": "2025-03-02T19:30:00+08:00",
            "messages": _messages(
                "s01",
                ("陆晴", "我报了周末的陶艺课", "I signed up for the weekend pottery class"),
                ("高远", "哈哈哈哈", "hahaha"),
            ),
        },
        {
            "id": "s02",
            "start": "2025-04-11T21:00:00+08:00",
            "messages": _messages(
                "s02",
                ("高远", "刚把自行车卖了，换了辆电瓶车", "just sold my bicycle and got an electric scooter"),
                ("陆晴", "多少钱卖的", "how much did it go for"),
            ),
        },
        {
            "id": "s03",
            "start": "2025-06-01T12:10:00+08:00",
            "messages": _messages(
                "s03",
                ("陆晴", "陶艺课的杯子烧裂了", "the mug from pottery class cracked in the kiln"),
                ("高远", "可惜", "what a pity"),
            ),
        },
    ],
    "questions": [
        {"id": "q1", "kind": "keyword", "zh": "谁报了陶艺课？", "en": "Who signed up for the pottery class?", "evidence": ["s01m01"]},
        {"id": "q2", "kind": "person", "zh": "高远把什么卖了？", "en": "What did Yuan sell?", "evidence": ["s02m01"]},
        {"id": "q3", "kind": "multi", "zh": "陶艺课后来怎么样？", "en": "What came of the pottery class?", "evidence": ["s01m01", "s03m01"]},
    ],
}  # fmt: skip

FIXTURE: dict[str, Any] = {
    "meta": {"quantitative_targets": {"search": {"keyword_recall_at_5": 0.8}}},
    "session": {"session_id": "room", "group_id": "77"},
    "simulated_stream_batches": [
        {
            "batch_id": "boat",
            "bot_participated": True,
            "messages": ["[2026-04-02 20:15] 陆晴：小木船漏水，船桨放在码头仓库", "[2026-04-02 20:16] Bot：记下了"],
        },
        {
            "batch_id": "gossip",
            "bot_participated": False,
            "messages": ["[2026-04-05 20:15] 高远：榴莲酥和椰子糖都卖光了"],
        },
    ],
    "chat_history_records": [
        {
            "record_id": 1,
            "theme": "小木船漏水",
            "summary": "陆晴说小木船漏水，船桨放在码头仓库。",
            "participants": ["陆晴", "Bot"],
            "start_time": 1775132100.0,
            "end_time": 1775132160.0,
        }
    ],
    "import_payload": {
        "paragraphs": [{"content": "高远保管码头仓库的钥匙。", "entities": ["高远", "码头仓库"]}],
        "relations": [
            {"subject": "高远", "predicate": "保管", "object": "码头仓库"},
            {"subject": "高远", "predicate": "认识", "object": "船长"},
        ],
    },
    "person_writebacks": [
        {"person_id": "p-7", "person_name": "陆晴", "memory_content": "陆晴晕船，出海前吃姜片。", "expected_keywords": ["陆晴", "姜片"]}
    ],
    "search_cases": [
        {"query": "小木船 船桨", "expected_keywords": ["小木船", "船桨"], "minimum_keyword_hits": 1},
        {"query": "码头仓库 钥匙", "expected_keywords": ["码头仓库", "保险箱"], "minimum_keyword_hits": 2},
    ],
    "knowledge_fetcher_cases": [
        {"query": "船桨放在哪里？", "expected_keywords": ["码头仓库"], "minimum_keyword_recall": 0.75}
    ],
    "time_cases": [{"query": "小木船", "time_expression": "2026/04/02", "expected_keywords": ["小木船"]}],
    "episode_cases": [
        {"query": "小木船漏水的经过", "expected_keywords": ["小木船"], "minimum_keyword_recall": 0.75}
    ],
    "profile_cases": [{"person_id": "p-7", "expected_keywords": ["陆晴", "姜片"], "minimum_keyword_recall": 0.75}],
    "negative_control_cases": [{"query": "榴莲酥 椰子糖"}],
}  # fmt: skip
