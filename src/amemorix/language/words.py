"""Words that name nothing in particular, in both languages."""

from __future__ import annotations

from ..lazy_regex import lazy_regex
from .normalise import STOP_WORDS, normalise_name
from .times import has_time_words

__all__ = ["ABSTRACT", "LONGEST_NAME", "VAGUE", "is_name"]

LONGEST_NAME = 60
_VAGUE_WORDS = """
thing things stuff lot lots bit way ways time times one ones people person someone everyone anyone something anything
everything nothing idea ideas fun day days moment moments feeling feelings chance part kind sort point place places
reason reasons problem problems question questions fact side end rest today tomorrow yesterday tonight week weekend
month year years morning afternoon evening night while hello hi hey thanks thank wow yeah yes no ok okay please sorry
sure great good nice cool awesome amazing fan it that this these those them him her us me you everybody nobody here
there home work half few couple little much many more other others same mine yours his hers theirs ours lol haha
blast break look go try ton tons plan plans well step steps care love luck bunch hour hours minute minutes
东西 时候 问题 事情 事 大家 人 人们 别人 自己 我们 你们 他们 她们 它们 咱们 什么 怎么 这个 那个 这里 那里 这儿 那儿 哪里 哪儿 地方 样子
时间 今天 明天 昨天 现在 以前 以后 最近 刚才 一下 一点 有点 一些 一样 这样 那样 这么 那么 真的 感觉 意思 方面 情况 原因 结果 办法
哈哈 哈哈哈 呵呵 嗯嗯 好的 谢谢 不好意思 对不起 没事 不用 可以 知道 觉得 的话 家人们 朋友们 各位 同学们 有人 没人 有的 家里 这边 那边
上面 下面 里面 外面 旁边 附近 前面 后面 天天 每天 全部 所有 其他 其它 一个 两个 几个 多少 好几 半天 一会 一会儿 下次 上次 这次
礼拜 星期 馆里 店里 班里 群里 公司里 师傅 阿姨 叔叔 大哥 大爷 大姐 小姐姐 小哥哥 老板 老师 同学 汇报 和平 沙发 大佬 有事 上台 朝南 看人 题目 名字 事儿 消息 感情 心情 身体
"""
VAGUE = frozenset(_VAGUE_WORDS.split())
"""They stand for something, or fill a place in talk."""
_ABSTRACT_WORDS = "重点 关键 结果 目的 原因 前提 标题 题目 理由 条件 主角 主题 内容 价格 密码 答案 目标 对方 对象 主要 首先 其次 最后 缺点 优点 好处 坏处"
ABSTRACT = frozenset(_ABSTRACT_WORDS.split())
"""Chinese words of which a statement says nothing without what they belong to."""
_LETTER = lazy_regex(r"[^\W\d_]")


def is_name(text: str, longest: int = LONGEST_NAME) -> bool:
    """Whether a thing could be called so: no pronoun, stop-word, number, time or whole sentence."""
    norm = normalise_name(text)
    if not 1 < len(norm) <= longest or norm in VAGUE or norm in STOP_WORDS or not _LETTER.search(norm):
        return False
    return not (has_time_words(text) and len(norm) <= 12 and not text[:1].isupper())
