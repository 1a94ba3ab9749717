//! Counts since boot, and what they are in a second.

use super::Field;

impl Field {
    /// What a count since boot is in a second, where that is another field.
    pub const fn rate(self) -> Option<Self> {
        Some(match self {
            Self::IrqCount => Self::IrqRate,
            Self::SoftirqCount => Self::SoftirqRate,
            Self::FaultCount => Self::Faults,
            Self::MajorFaultCount => Self::MajorFaults,
            Self::FreedCount => Self::PagesFreed,
            Self::ThpCollapseCount => Self::ThpCollapse,
            Self::AllocStallCount => Self::AllocStall,
            Self::ScanKswapdCount => Self::ScanKswapd,
            Self::ScanDirectCount => Self::ScanDirect,
            Self::OomKillCount => Self::OomKills,
            Self::SwapInCount => Self::SwapIn,
            Self::SwapOutCount => Self::SwapOut,
            Self::ThpFaultAllocCount => Self::ThpFaultAlloc,
            Self::ThpFaultFallbackCount => Self::ThpFaultFallback,
            Self::CompactStallCount => Self::CompactStall,
            Self::CompactFailCount => Self::CompactFail,
            Self::CompactSuccessCount => Self::CompactSuccess,
            Self::TcpOutSegmentCount => Self::TcpOutSegments,
            Self::TcpRetransmitCount => Self::TcpRetransmits,
            Self::TcpListenOverflowCount => Self::TcpListenOverflows,
            Self::UdpDatagramCount => Self::UdpDatagrams,
            Self::UdpErrorCount => Self::UdpErrors,
            Self::UdpBufferErrorCount => Self::UdpBufferErrors,
            Self::SoftnetPacketCount => Self::SoftnetPackets,
            Self::SoftnetDroppedCount => Self::SoftnetDropped,
            Self::SoftnetSqueezedCount => Self::SoftnetSqueezed,
            Self::CgroupMaxHitCount => Self::CgroupMaxHits,
            Self::CgroupHighHitCount => Self::CgroupHighHits,
            Self::CgroupRefaultCount => Self::CgroupRefaults,
            Self::NodeMissCount => Self::NodeMisses,
            Self::NetMissedCount => Self::NetRxFifo,
            Self::NetErrorCount => Self::NetErrors,
            Self::NetRxPacketCount => Self::NetRxPackets,
            Self::NetTxPacketCount => Self::NetTxPackets,
            Self::NetRxTotal => Self::NetRxBytes,
            Self::NetTxTotal => Self::NetTxBytes,
            Self::NetRxDropCount => Self::NetRxDrops,
            Self::NetTxDropCount => Self::NetTxDrops,
            Self::DiskReadCount => Self::DiskReads,
            Self::DiskWriteCount => Self::DiskWrites,
            Self::DiskReadTotal => Self::DiskReadBytes,
            Self::DiskWriteTotal => Self::DiskWriteBytes,
            _ => return None,
        })
    }
}
